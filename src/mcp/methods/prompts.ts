/** Implements `prompts/list` and `prompts/get`, with prompts for the most common questions about an API. */
import { isObject } from '../protocol/message.js';
import { invalidParams, quoteText } from '../protocol/rpc-error.js';
import type { Method } from '../method-call.js';
import { hasCursor } from './list-resources.js';

interface Prompt {
  readonly description: Readonly<Record<string, unknown>> & { readonly name: string; readonly description: string };
  readonly text: (args: Readonly<Record<string, string>>) => string;
}

const LONGEST_ARGUMENT = 4_000;

const PROMPTS: readonly Prompt[] = [
  {
    description: {
      name: 'explain_refusal',
      title: 'Explain a refusal',
      description: 'Says why a request to this API was refused, and what to do about it.',
      arguments: [
        {
          name: 'refusal',
          description: 'The error code, such as rate_limited, or the whole error as it came.',
          required: true,
        },
      ],
    },
    text: ({ refusal = '' }) =>
      'A request to this API was refused with the following. Read the resource "errors" for what its code means and ' +
      'what to do; where a limit ran out, call get_usage. Then tell me in a few sentences why it was refused, whose ' +
      `fault it is, and what to change or how long to wait.\n\n${refusal}`,
  },
  {
    description: {
      name: 'find_my_limits',
      title: 'Find my limits',
      description: 'Says what is left of the limits of this API key and its account, and when they come back.',
    },
    text: () =>
      'Call get_usage. Then tell me, limit by limit, how much of it is used, how much is left, and when it comes ' +
      'back; and which one I will reach first if I go on as I do.',
  },
];

export const listPrompts: Method = {
  name: 'prompts/list',
  isCacheable: true,
  computeResult(call) {
    if (hasCursor(call)) return invalidParams('The cursor is invalid: there is one page.');
    return `"prompts":${JSON.stringify(PROMPTS.map(({ description }) => description))}`;
  },
};

export const getPrompt: Method = {
  name: 'prompts/get',
  computeResult({ message }) {
    const { name } = message.params;
    const given = message.params['arguments'] ?? {};
    const prompt = PROMPTS.find(({ description }) => description.name === name);
    if (prompt === undefined) return invalidParams(`Unknown prompt: ${quoteText(String(name))}.`);
    const args = textArguments(given);
    if (args === undefined) return invalidParams('"arguments" must be an object of texts.');
    const { description } = prompt.description;
    const parameters = (prompt.description['arguments'] ?? []) as readonly { readonly name: string }[];
    const missing = parameters.find((argument) => args[argument.name] === undefined);
    if (missing !== undefined) return invalidParams(`The argument "${missing.name}" is missing.`);
    const messages = [{ role: 'user', content: { type: 'text', text: prompt.text(args) } }];
    return `"description":${JSON.stringify(description)},"messages":${JSON.stringify(messages)}`;
  },
};

/**
 * Returns the arguments of a prompt. Returns undefined if they are not an object of strings with at most
 * `LONGEST_ARGUMENT` characters.
 */
function textArguments(given: unknown): Readonly<Record<string, string>> | undefined {
  if (!isObject(given)) return undefined;
  const isText = (value: unknown) => typeof value === 'string' && value.length <= LONGEST_ARGUMENT;
  return Object.values(given).every(isText) ? (given as Record<string, string>) : undefined;
}
