/** Which methods a path answers to, for `Allow` on 405. */
import type { FastifyInstance } from 'fastify';
import type { AllowedMethods } from './problem.filter.js';

/** Watches the routes that are added from now on. What is returned is empty for a path that none of them has. */
export function allowedMethodsOf(fastify: FastifyInstance): AllowedMethods {
  const methodsByPattern = new Map<string, Set<string>>();
  fastify.addHook('onRoute', ({ url, method }) => {
    const pattern = `^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`;
    const methods = methodsByPattern.get(pattern) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    methodsByPattern.set(pattern, methods);
  });
  return (path) => {
    const found = [...methodsByPattern].filter(([pattern]) => new RegExp(pattern).test(path));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].toSorted();
  };
}
