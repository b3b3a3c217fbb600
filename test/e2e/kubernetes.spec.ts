/**
 * The Helm chart renders, and its objects are valid. Each decodes strictly into its type of Kubernetes, the Gateway API
 * or the Prometheus operator. The plain manifests equal the chart with the example values.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { describeUnless } from '../support/describe-with.js';
import { missingToolchain, runForeign } from '../support/foreign-packages.js';

const FOLDER = 'test/kubernetes';
const CHART = '../../deploy/helm/trailgate';
const EXAMPLE = `${CHART}/example-values.yaml`;
const PLAIN = 'deploy/kubernetes/trailgate.yaml';
/** Long, because Helm's engine and the Kubernetes types are compiled first. */
const TIMEOUT_MS = 900_000;

const objectsOf = (text: string) =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as { readonly kind: string } | null) ?? []);

const rendered = async (...values: readonly string[]): Promise<string> => {
  const env = Object.fromEntries(['HOME', 'GOPROXY', 'GOFLAGS'].map((name) => [name, process.env[name] ?? '']));
  const { code, stdout, stderr } = await runForeign(FOLDER, 'go', ['run', '.', CHART, ...values], env, TIMEOUT_MS);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
};

describeUnless(missingToolchain('go'))('the Helm chart', () => {
  it(
    'renders the plain manifests from the example values',
    async () => {
      const text = await rendered(EXAMPLE);
      const head = readFileSync(PLAIN, 'utf8').split('---\n')[0] ?? '';
      if (process.env['TRAILGATE_TEST_WRITE'] === '1') writeFileSync(PLAIN, head + text);
      expect(objectsOf(readFileSync(PLAIN, 'utf8'))).toEqual(objectsOf(text));
    },
    TIMEOUT_MS,
  );

  it(
    'renders valid objects of all optional kinds when everything is turned on',
    async () => {
      const kinds = objectsOf(await rendered(EXAMPLE, 'everything.yaml')).map(({ kind }) => kind);
      const options = ['HorizontalPodAutoscaler', 'HTTPRoute', 'Ingress', 'NetworkPolicy', 'ServiceMonitor'];
      for (const kind of options) expect(kinds).toContain(kind);
      expect(kinds.filter((kind) => kind === 'Deployment')).toHaveLength(3);
    },
    TIMEOUT_MS,
  );
});
