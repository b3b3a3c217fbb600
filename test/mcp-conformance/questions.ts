/**
 * Tools that ask their client back before they are done: by results that say so (2026-07-28), or by requests on a
 * stream (2025-11-25).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { MethodCall } from '../../src/mcp/method-call.js';
import { metaOf } from '../../src/mcp/protocol/era.js';
import { isObject, type JsonObject } from '../../src/mcp/protocol/message.js';
import { invalidParams, RpcError } from '../../src/mcp/protocol/rpc-error.js';
import { CAPABILITIES_MEMBER } from '../../src/mcp/protocol/versions.js';
import { membersOf, textBlock } from './files.js';
import { StreamedCall, type ClientRequests } from './streamed.js';

const MISSING_CAPABILITY = -32_021;
const stateKey = randomBytes(32);

const object = (properties: object, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
const elicit = (message: string, properties: object) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: object(properties) },
});
const sample = (text: string, maxTokens: number) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: textBlock(text) }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };
const NAME = { name: { type: 'string' } };

/** Returns the capabilities that a modern client has declared. */
export function capabilitiesOf({ message }: MethodCall): JsonObject {
  const capabilities = metaOf(message.params)?.[CAPABILITIES_MEMBER];
  return isObject(capabilities) ? capabilities : {};
}

/** The refusal of a client that lacks what a request needs. */
export function missingCapability(name: string): RpcError {
  const data = { requiredCapabilities: { [name]: {} } };
  return new RpcError(MISSING_CAPABILITY, 'Missing required client capability', 400, data);
}

/** A state that nobody else can make. */
function sealed(text: string): string {
  return `${text}.${createHmac('sha256', stateKey).update(text).digest('hex')}`;
}

/** Returns the sealed content; undefined if the seal is missing or wrong. */
function unsealed(state: unknown): string | undefined {
  if (typeof state !== 'string') return undefined;
  const text = state.slice(0, state.indexOf('.'));
  const [given, wanted] = [Buffer.from(state), Buffer.from(sealed(text))];
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? text : undefined;
}

function ask(call: MethodCall, inputRequests: object, state?: string): void {
  const members = state === undefined ? { inputRequests } : { inputRequests, requestState: sealed(state) };
  call.respondWithResult(membersOf(members), 'input_required');
}

function say(call: MethodCall, text: string): void {
  call.respondWithResult(membersOf({ content: [textBlock(text)] }));
}

/** Returns the client's reply to a question; undefined if there is none yet. */
function saidTo({ message }: MethodCall, question: string): JsonObject | undefined {
  const { inputResponses } = message.params;
  const said = isObject(inputResponses) ? inputResponses[question] : undefined;
  return isObject(said) ? said : undefined;
}

/** A question without a state. */
function asksOnce(question: string, request: object, text: (said: JsonObject) => string) {
  return (call: MethodCall): void => {
    const { inputResponses } = call.message.params;
    if (inputResponses !== undefined && !isObject(inputResponses)) {
      return call.respondWithError(invalidParams('"inputResponses" must be an object.'));
    }
    const said = saidTo(call, question);
    if (said === undefined) ask(call, { [question]: request });
    else say(call, text(said));
  };
}

/** A question with a state that has to come back as it was. */
function asksWithState(question: string, requests: object) {
  return (call: MethodCall): void => {
    const { requestState } = call.message.params;
    if (requestState === undefined) return ask(call, requests, 'first');
    if (unsealed(requestState) !== 'first')
      return call.respondWithError(invalidParams('"requestState" is not what was given.'));
    if (saidTo(call, question) === undefined) return ask(call, requests, 'first');
    return say(call, 'state-ok');
  };
}

const confirm = { confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) };

/** In so many rounds. */
function asksTwice(call: MethodCall): void {
  const { requestState } = call.message.params;
  const state = requestState === undefined ? '' : unsealed(requestState);
  const first = { step1: elicit('Step 1: What is your name?', NAME) };
  const second = { step2: elicit('Step 2: What is your favorite color?', { color: { type: 'string' } }) };
  if (state === undefined) return call.respondWithError(invalidParams('"requestState" is not what was given.'));
  if (state === '' || (state === 'one' && saidTo(call, 'step1') === undefined)) return ask(call, first, 'one');
  if (state === 'one' || saidTo(call, 'step2') === undefined) return ask(call, second, 'two');
  return say(call, 'Both are known.');
}

/** Only what the client can do. */
function asksWhatItCan(call: MethodCall): void {
  const { sampling, elicitation } = capabilitiesOf(call);
  const requests = {
    ...(sampling === undefined ? {} : { thought: sample('Say something', 50) }),
    ...(elicitation === undefined ? {} : { user_name: elicit('What is your name?', NAME) }),
  };
  ask(call, requests);
}

/** Tools for modern clients, by name. */
export const ASKING_TOOLS: Readonly<Record<string, (call: MethodCall) => void>> = {
  test_input_required_result_elicitation: asksOnce(
    'user_name',
    elicit('What is your name?', NAME),
    ({ content }) => `Hello, ${String((content as { name?: unknown } | undefined)?.name)}!`,
  ),
  test_input_required_result_sampling: asksOnce(
    'capital_question',
    sample('What is the capital of France?', 100),
    ({ content }) => String((content as { text?: unknown } | undefined)?.text),
  ),
  test_input_required_result_list_roots: asksOnce('client_roots', roots, (said) => JSON.stringify(said['roots'])),
  test_input_required_result_request_state: asksWithState('confirm', confirm),
  test_input_required_result_tampered_state: asksWithState('confirm', confirm),
  test_input_required_result_multiple_inputs: asksWithState('client_roots', {
    user_name: elicit('What is your name?', NAME),
    greeting: sample('Generate a greeting', 50),
    client_roots: roots,
  }),
  test_input_required_result_multi_round: asksTwice,
  test_input_required_result_capabilities: asksWhatItCan,
};

/** `prompts/get` may ask, too. */
export function askingPrompt(call: MethodCall): void {
  const request = elicit('What context should the prompt use?', { context: { type: 'string' } });
  const said = saidTo(call, 'user_context');
  if (said === undefined) return ask(call, { user_context: request });
  const content = textBlock(`In the context of ${JSON.stringify(said['content'])}.`);
  return call.respondWithResult(membersOf({ messages: [{ role: 'user', content }] }));
}

/** Tools for clients of 2025, by name, with what they request, from their arguments. */
export const REQUESTING_TOOLS: Readonly<
  Record<string, (args: JsonObject) => { readonly method: string; readonly params: object }>
> = {
  test_sampling: ({ prompt }) => sample(String(prompt), 100),
  test_elicitation: ({ message }) =>
    elicit(String(message), {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }),
  test_elicitation_sep1034_defaults: () =>
    elicit('With defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: () => elicit('With choices', CHOICES),
};

const OPTIONS = ['option1', 'option2', 'option3'];
const titled = (word: string) =>
  ['First', 'Second', 'Third'].map((title, at) => ({ const: `value${at + 1}`, title: `${title} ${word}` }));
const CHOICES = {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
};

/** Asks the client on the stream of its call, and says what it said. */
export async function requestOfClient(
  call: MethodCall,
  requests: ClientRequests,
  { method, params }: { readonly method: string; readonly params: object },
): Promise<void> {
  const stream = new StreamedCall(call);
  try {
    const said = await requests.ask(stream, method, params);
    stream.end(membersOf({ content: [textBlock(`The client says: ${JSON.stringify(said)}`)] }));
  } catch (error) {
    stream.end(membersOf({ content: [textBlock(String(error))], isError: true }));
  }
}
