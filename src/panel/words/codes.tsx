/** Explanations of the public API's error codes, in the language of the page. */
import { Code } from '@mantine/core';
import { useLingui } from '@lingui/react';
import type { ReactNode } from 'react';
import { PUBLIC_ERRORS } from '../../platform/problems/public-errors.js';
import { ERRORS_ES } from '../locales/errors.es.js';

export interface CodeText {
  /** Meaning of the code. */
  readonly means: string;
  /** Advice for the caller of the API. */
  readonly advice: ReactNode;
}

const isPublic = (code: string): code is keyof typeof PUBLIC_ERRORS => Object.hasOwn(PUBLIC_ERRORS, code);

/**
 * Returns a function that explains an error code. Undefined for codes that are not public codes of the gateway, such as
 * the codes of a backend.
 */
export function useCodeText(): (code: string) => CodeText | undefined {
  const { i18n } = useLingui();
  const rows = i18n.locale === 'es' ? ERRORS_ES : PUBLIC_ERRORS;
  return (code) => (isPublic(code) ? { means: rows[code].title, advice: inline(rows[code].action) } : undefined);
}

/** Renders a text in which backticks mark code. */
const inline = (markdown: string): ReactNode =>
  markdown.split('`').map((part, index) => (index % 2 === 0 ? part : <Code key={index}>{part}</Code>));
