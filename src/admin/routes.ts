/** Collects which methods each path supports, for `Allow` in 405 responses. */
import type { FastifyInstance } from 'fastify';
import type { AllowedMethods } from './problem.filter.js';

const HOLE = '[^/]+';
const holesOf = (pattern: string): number => pattern.split(HOLE).length - 1;

/** Watches routes that are added from now on. The returned function yields an empty list for an unknown path. */
export function allowedMethodsOf(fastify: FastifyInstance): AllowedMethods {
  const methodsByPattern = new Map<string, Set<string>>();
  fastify.addHook('onRoute', ({ url, method }) => {
    const pattern = `^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, HOLE)}$`;
    const methods = methodsByPattern.get(pattern) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    methodsByPattern.set(pattern, methods);
  });
  return (path) => {
    const found = [...methodsByPattern].filter(([pattern]) => new RegExp(pattern).test(path));
    // `passkeys/options` is a path of its own, not a passkey id.
    const fewestHoles = Math.min(...found.map(([pattern]) => holesOf(pattern)));
    const own = found.filter(([pattern]) => holesOf(pattern) === fewestHoles);
    return [...new Set(own.flatMap(([, methods]) => [...methods]))].toSorted();
  };
}
