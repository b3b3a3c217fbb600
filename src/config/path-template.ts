/** Path templates such as `/customers/{id}`: which are valid, and when two of them match the same paths. */

/** RFC 3986 section 3.3 `pchar` without percent-encoding and `;`: what the gateway matches has only one spelling. */
const LITERAL = /^[A-Za-z0-9._~!$&'()*+,=:@-]+$/;
const PARAMETER = /^\{([^{}]+)\}$/;

/** What is wrong with a template, in words that follow its name; undefined where it is valid. */
export function templateProblem(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with /';
  if (template === '/') return undefined;
  const names = new Set<string>();
  // One `/` at the end is another path, which some frameworks want.
  for (const segment of template.slice(1).replace(/\/$/, '').split('/')) {
    if (segment === '') return 'must not contain //';
    if (segment === '.' || segment === '..') return 'must not contain . or .. as a segment';
    const name = PARAMETER.exec(segment)?.[1];
    if (name === undefined && /[{}]/.test(segment)) return `has \`${segment}\`: a parameter must be a whole segment`;
    if (name === undefined && !LITERAL.test(segment))
      return `has \`${segment}\`: only unencoded path characters are allowed`;
    if (name !== undefined && names.has(name)) return `names the parameter \`${name}\` twice`;
    if (name !== undefined) names.add(name);
  }
  return undefined;
}

/** The template with its parameter names left out: equal for two templates that match the same paths. */
export function templateShape(template: string): string {
  return template.replace(/\{[^}]*\}/g, '{}');
}

/** Parameter names from left to right. */
export function templateParameters(template: string): string[] {
  return Array.from(template.matchAll(/\{([^}]*)\}/g), (match) => match[1] ?? '');
}
