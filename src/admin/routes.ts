/** Collects the methods that each path supports, for the `Allow` header of 405 responses. */
import type { FastifyInstance } from 'fastify';
import type { AllowedMethods } from './problem.filter.js';

const PARAMETER = '[^/]+';
const countParameters = (pattern: string): number => pattern.split(PARAMETER).length - 1;

/** Collects the routes registered after this call. Returns a function that looks up the methods of a path. */
export function allowedMethodsOf(fastify: FastifyInstance): AllowedMethods {
  const methodsByPattern = new Map<string, Set<string>>();
  fastify.addHook('onRoute', ({ url, method }) => {
    const pattern = `^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, PARAMETER)}$`;
    const methods = methodsByPattern.get(pattern) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    methodsByPattern.set(pattern, methods);
  });
  return (path) => {
    const matching = [...methodsByPattern].filter(([pattern]) => new RegExp(pattern).test(path));
    // Prefer the pattern with the fewest parameters: `passkeys/options` is a fixed path, not a passkey ID.
    const fewestParameters = Math.min(...matching.map(([pattern]) => countParameters(pattern)));
    const mostSpecific = matching.filter(([pattern]) => countParameters(pattern) === fewestParameters);
    return [...new Set(mostSpecific.flatMap(([, methods]) => [...methods]))].toSorted();
  };
}
