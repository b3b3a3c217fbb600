/** Defines `trailgate openapi`, which prints OpenAPI documents without a running program. */
import type { Command } from 'commander';
import { adminApiDocument } from '../../admin/admin.module.js';

/**
 * Adds `openapi admin` to the program.
 * @param write receives the output
 */
export function addOpenApiCommand(program: Command, write = (text: string) => void process.stdout.write(text)): void {
  program
    .command('openapi')
    .description('print an OpenAPI document')
    .command('admin')
    .description('print the OpenAPI document of the admin API (also at /admin/v1/openapi.json)')
    .action(() => write(`${JSON.stringify(adminApiDocument(), null, 2)}\n`));
}
