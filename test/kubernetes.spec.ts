/** The Kubernetes manifests match the program. These tests need no cluster. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { ENVIRONMENT_VARIABLES } from '../src/config/model/environment.js';
import { ROLES } from '../src/program/roles.js';
import { VERSION } from '../src/platform/version.js';
import { configOf } from './support/config-files.js';

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly enableServiceLinks: boolean;
        readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly containers: readonly [Container];
      };
    };
  };
}

const objects = parseAllDocuments(readFileSync('deploy/kubernetes/trailgate.yaml', 'utf8')).flatMap(
  (document) => (document.toJS() as KubernetesObject | null) ?? [],
);
const ofKind = (kind: string): KubernetesObject[] => objects.filter((object) => object.kind === kind);
const deployments = ofKind('Deployment').map(({ metadata: { name }, spec }) => {
  const pod = spec.template.spec;
  return { name, pod, container: pod.containers[0] };
});

describe('deploy/kubernetes', () => {
  it('runs each role in separate pods', () => {
    const roles = deployments.map(({ container }) => container.args.at(-1));
    expect(roles.toSorted()).toEqual([...ROLES].toSorted());
    for (const { container } of deployments) {
      expect(container.args.slice(0, -1)).toEqual(['start', '--config', '/etc/trailgate/gateway.yaml', '--roles']);
      expect(container.image).toBe(`trailgate:${VERSION}`);
    }
  });

  it('has a valid configuration with the ports and shutdown times of the pods', async () => {
    const [map] = ofKind('ConfigMap') as [KubernetesObject];
    const { file } = await configOf(map.data);
    for (const { name, pod, container } of deployments) {
      const ports = Object.fromEntries(container.ports.map((port) => [port.name, port.containerPort]));
      const ofRole = { admin: { admin: file.admin.port }, gateway: { public: file.gateway.port }, worker: {} };
      const role = name.replace('trailgate-', '') as keyof typeof ofRole;
      expect(ports).toEqual({ health: file.admin.health?.port, ...ofRole[role] });
      // A changed configuration gets a ConfigMap with another name, so running pods keep the file they started with.
      expect(pod.volumes.flatMap(({ configMap }) => configMap ?? [])).toEqual([{ name: map.metadata.name }]);
      const { delay = 0, drain } = file.gateway.shutdown;
      expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(delay + drain + 10_000);
    }
    expect([file.gateway.host, file.admin.host]).toEqual(['0.0.0.0', '0.0.0.0']);
  });

  it('gives pods only variables that the program reads, and only the secrets of their role', () => {
    const secrets: Record<string, string[]> = {};
    for (const { name, pod, container } of deployments) {
      const names = container.env.map((variable) => variable.name);
      expect(Object.keys(ENVIRONMENT_VARIABLES)).toEqual(expect.arrayContaining(names));
      secrets[name] = container.env.flatMap((variable) => (variable.valueFrom === undefined ? [] : variable.name));
      // With service links, Kubernetes would set TRAILGATE_ADMIN_PORT to an invalid `tcp://10.…` for the service
      // trailgate-admin.
      expect(pod.enableServiceLinks).toBe(false);
    }
    expect(secrets).toEqual({
      'trailgate-gateway': ['DATABASE_URL', 'REDIS_URL'],
      'trailgate-worker': ['DATABASE_URL', 'REDIS_URL', 'TRAILGATE_SECRETS_KEY'],
      'trailgate-admin': ['DATABASE_URL', 'REDIS_URL', 'TRAILGATE_SECRETS_KEY', 'TRAILGATE_ADMIN_TOKEN'],
    });
  });

  it('uses /livez for startup and liveness probes, and /readyz for readiness probes', () => {
    for (const { container } of deployments) {
      for (const probe of ['startupProbe', 'livenessProbe'] as const) {
        expect(container[probe].httpGet).toEqual({ path: '/livez', port: 'health' });
      }
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'health' });
    }
  });

  it('runs as a non-root user with a read-only root filesystem and data and temporary volumes', () => {
    for (const { pod, container } of deployments) {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/etc/trailgate', '/data', '/tmp']);
    }
  });
});

describe('the Helm chart', () => {
  it('has the version of the program', () => {
    const chart = parse(readFileSync('deploy/helm/trailgate/Chart.yaml', 'utf8')) as Record<string, string>;
    expect([chart['version'], chart['appVersion']]).toEqual([VERSION, VERSION]);
  });
});
