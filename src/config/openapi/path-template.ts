/** Validates and compares path templates such as `/customers/{id}`. */

/**
 * Matches fixed text of `pchar` characters (RFC 3986 section 3.3), without percent-encoding and `;`. Each path
 * therefore has only one spelling.
 */
const LITERAL = /^[A-Za-z0-9._~!$&'()+,=:@-]+$/;
const PARAMETER = /^\{([^{}]+)\}$/;
/**
 * Matches characters that other routers use for wildcards, repetition, types or defaults. This gateway would read them
 * as part of the parameter name.
 */
const FOREIGN_SYNTAX = /[*+?:=\s]/;
const BRACES_HINT = 'write a parameter as {name}, with other text between two of them: /customers/{id}:archive';

/** The first problem of a path template. */
export interface TemplateFault {
  /** Phrase that follows "the path" in the message. */
  readonly message: string;
  readonly hint: string;
}

/** Returns the first problem of a template, or undefined if the template is valid. */
export function templateFault(template: string): TemplateFault | undefined {
  if (!template.startsWith('/')) {
    const hint = /^https?:\/\//.test(template) ? 'leave scheme and host out' : `write /${template}`;
    return { message: 'must begin with /', hint };
  }
  if (template === '/') return undefined;
  const names = new Set<string>();
  // A trailing `/` makes a different path, which some frameworks require.
  for (const segment of template.slice(1).replace(/\/$/, '').split('/')) {
    const fault = PARAMETER.test(segment) ? undefined : segmentFault(segment);
    if (fault !== undefined) return fault;
    for (const name of templateParameters(segment)) {
      const nameProblem = nameFault(name, names);
      if (nameProblem !== undefined) return nameProblem;
      names.add(name);
    }
  }
  return undefined;
}

function nameFault(name: string, seen: ReadonlySet<string>): TemplateFault | undefined {
  if (FOREIGN_SYNTAX.test(name)) {
    const plain = name.replaceAll(/[*+?\s]|[:=].*$/g, '') || 'name';
    return {
      message: `has \`{${name}}\`: a parameter has a name and nothing else`,
      hint: `write {${plain}}; it stands for one segment`,
    };
  }
  if (!seen.has(name)) return undefined;
  return { message: `names the parameter \`${name}\` twice`, hint: 'give each its own name' };
}

function segmentFault(segment: string): TemplateFault | undefined {
  if (segment === '') return { message: 'must not contain //', hint: 'leave one of them out' };
  if (segment === '.' || segment === '..') {
    return { message: 'must not contain . or .. as a segment', hint: 'write the path that it leads to' };
  }
  if (segment.includes('*')) {
    return {
      message: `has \`${segment}\`: there are no wildcards`,
      hint: 'describe each path; {name} stands for one segment',
    };
  }
  const shown = `has \`${segment}\``;
  if (/[?#]/.test(segment)) {
    return {
      message: `${shown}: a query or a fragment is no part of the path`,
      hint: 'leave it out: any query is passed on',
    };
  }
  if (/[{}]/.test(segment)) {
    const isUnambiguous = LITERAL.test(segment.replaceAll(/\{[^{}]+\}/g, '')) && !segment.includes('}{');
    return isUnambiguous ? undefined : { message: `${shown}: parameters cannot be told apart`, hint: BRACES_HINT };
  }
  const [, name] = /^:([A-Za-z_]\w*)$/.exec(segment) ?? [];
  if (name !== undefined) return { message: `${shown}: write parameters in braces`, hint: `write {${name}}` };
  if (LITERAL.test(segment)) return undefined;
  return {
    message: `${shown}: only unencoded path characters are allowed`,
    hint: "letters, digits, and - . _ ~ ! $ & ' ( ) + , = : @",
  };
}

/** Returns the template without parameter names. Templates that match the same paths have equal shapes. */
export function templateShape(template: string): string {
  return template.replace(/\{[^}]*\}/g, '{}');
}

/** Returns the parameter names from left to right. */
export function templateParameters(template: string): string[] {
  return Array.from(template.matchAll(/\{([^}]*)\}/g), (match) => match[1] ?? '');
}
