/**
 * Lists the Nest controllers for operators: state of the installation, quota adjustments of all accounts, import and
 * export.
 */
import type { Type } from '@nestjs/common';
import { DeprecatedCallsController } from './deprecated-calls/deprecated-calls.controller.js';
import { InstallationHealthController } from './health/installation-health.controller.js';
import { AllQuotaAdjustmentsController } from './quota-adjustments/all-adjustments.controller.js';
import { ExportsController } from './exports/exports.controller.js';
import { ImportsController } from './imports/imports.controller.js';
import { TargetsController } from './targets/targets.controller.js';

export const INSTALLATION_CONTROLLERS: readonly Type[] = [
  TargetsController,
  InstallationHealthController,
  DeprecatedCallsController,
  AllQuotaAdjustmentsController,
  ExportsController,
  ImportsController,
];
