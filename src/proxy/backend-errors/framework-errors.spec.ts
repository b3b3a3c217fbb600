/** Recorded errors of backend frameworks keep their meaning. Each fixture names its source. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ErrorPages } from '../../platform/problems/error-pages.js';
import { problemBody } from '../../platform/problems/problem-body.js';
import { backendProblem } from './backend-problem.js';

const PAGES = new ErrorPages('https://api.example.com');

const FOLDER = 'test/support/backend-errors';

interface Fixture {
  readonly framework: string;
  readonly version: string;
  readonly source: string;
  readonly responses: readonly {
    readonly what: string;
    readonly status: number;
    readonly contentType: string;
    readonly body: string;
    /**
     * The expected result for the client. `detail` null means that it must not be passed on. A 5xx has a fixed text.
     */
    readonly problem: { readonly code: string; readonly detail?: string | null; readonly errors?: readonly object[] };
  }[];
}

const fixtures = readdirSync(FOLDER).map((name) => JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) as Fixture);

it('there are fixtures of six frameworks, each with its version and source', () => {
  const frameworks = new Set(fixtures.map(({ framework }) => framework.split(' ')[0]));
  expect([...frameworks].toSorted()).toEqual(['Django', 'FastAPI', 'Laravel', 'NestJS', 'Rails', 'Spring']);
  for (const { version, source } of fixtures) expect([version, source.length > 30]).toEqual([expect.any(String), true]);
});

describe.each(fixtures)('$framework $version', ({ responses }) => {
  it.each(responses)('$status: $what', ({ status, contentType, body, problem }) => {
    const made = backendProblem({ status, headers: { 'content-type': contentType }, body }, false);
    const { code, detail, errors } = problemBody(made, 'req_1', PAGES) as Fixture['responses'][number]['problem'];
    expect({ status: made.status, code, errors }).toEqual({ status, code: problem.code, errors: problem.errors });
    expect(problem.detail === undefined || problem.detail === (detail ?? null)).toBe(true);
    expect(status < 500 || detail?.startsWith('The service behind this API failed. ')).toBe(true);
  });
});
