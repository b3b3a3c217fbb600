/**
 * The conformance profile: what the suite calls by name, beside what the program serves, through the same door, key,
 * header rules, messages and responses. The program has none of it; `test/e2e/mcp-conformance.spec.ts` opens a server
 * with it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Method, MethodCall, ServedMethods } from '../../src/mcp/method-call.js';
import { SERVED_METHODS } from '../../src/mcp/methods/methods.js';
import { metaOf } from '../../src/mcp/protocol/era.js';
import { isObject, type JsonObject } from '../../src/mcp/protocol/message.js';
import { invalidParams, RpcError } from '../../src/mcp/protocol/rpc-error.js';
import { audioBlock, imageBlock, membersOf, PNG, resourceBlock, textBlock } from './files.js';
import {
  askingPrompt,
  ASKING_TOOLS,
  capabilitiesOf,
  missingCapability,
  REQUESTING_TOOLS,
  requestOfClient,
} from './questions.js';
import { ClientRequests, StreamedCall } from './streamed.js';

const STEP_MS = 50;
const LOG_LEVEL_MEMBER = 'io.modelcontextprotocol/logLevel';

type Fixture = (call: MethodCall, args: JsonObject) => void | Promise<void>;

const says =
  (...content: readonly object[]): Fixture =>
  (call) =>
    call.respondWithResult(membersOf({ content }));

/** Says what it does while it does it. */
async function streams(
  call: MethodCall,
  notifications: readonly (readonly [string, object])[],
  text: string,
): Promise<void> {
  const stream = new StreamedCall(call);
  for (const [method, params] of notifications) {
    stream.notify(method, params);
    await sleep(STEP_MS);
  }
  stream.end(membersOf({ content: [textBlock(text)] }));
}

const logged = (...texts: readonly string[]) =>
  texts.map((data) => ['notifications/message', { level: 'info', logger: 'conformance', data }] as const);

const requests = new ClientRequests();

const TOOLS: Readonly<Record<string, Fixture>> = {
  test_simple_text: says(textBlock('This is a simple text response for testing.')),
  test_image_content: says(imageBlock),
  test_audio_content: says(audioBlock),
  test_embedded_resource: says(resourceBlock('test://embedded-resource', 'This is an embedded resource content.')),
  test_multiple_content_types: says(
    textBlock('Multiple content types test:'),
    imageBlock,
    resourceBlock('test://mixed-content-resource', '{"test":"data"}'),
  ),
  test_error_handling: (call) =>
    call.respondWithResult(
      membersOf({ content: [textBlock('This tool intentionally returns an error for testing')], isError: true }),
    ),
  test_tool_with_logging: (call) =>
    streams(
      call,
      logged('Tool execution started', 'Tool processing data', 'Tool execution completed'),
      'Logged three times.',
    ),
  test_logging_tool: (call) => {
    const isWanted = metaOf(call.message.params)?.[LOG_LEVEL_MEMBER] !== undefined;
    return streams(call, isWanted ? logged('Logged, as was asked for') : [], 'Done.');
  },
  test_tool_with_progress: (call) => {
    const progressToken = metaOf(call.message.params)?.['progressToken'];
    const steps = progressToken === undefined ? [] : [0, 50, 100];
    const notifications = steps.map(
      (progress) => ['notifications/progress', { progressToken, progress, total: 100 }] as const,
    );
    return streams(call, notifications, 'Done.');
  },
  test_missing_capability: (call) => {
    if (capabilitiesOf(call)['sampling'] === undefined) call.respondWithError(missingCapability('sampling'));
    else call.respondWithResult(membersOf({ content: [textBlock('The client can sample.')] }));
  },
  test_streaming_elicitation: (call) => {
    if (capabilitiesOf(call)['elicitation'] === undefined)
      return call.respondWithError(missingCapability('elicitation'));
    const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } } };
    const params = { message: 'Go on?', requestedSchema };
    return new StreamedCall(call).end(
      membersOf({ inputRequests: { confirm: { method: 'elicitation/create', params } } }),
      'input_required',
    );
  },
  test_trigger_tool_change: (call) => {
    call.parts.subscriptions.notifyToolsChanged();
    call.respondWithResult(membersOf({ content: [textBlock('Whoever listens was told.')] }));
  },
  ...ASKING_TOOLS,
  ...Object.fromEntries(
    Object.entries(REQUESTING_TOOLS).map(([name, requestOf]) => [
      name,
      (call: MethodCall, args: JsonObject) => requestOfClient(call, requests, requestOf(args)),
    ]),
  ),
};

const ARGUMENTS: Readonly<Record<string, object>> = {
  test_sampling: { prompt: { type: 'string' } },
  test_elicitation: { message: { type: 'string' } },
};

const LISTED_TOOLS = Object.keys(TOOLS).map((name) => ({
  name,
  description: `Is called by the conformance suite: ${name}.`,
  inputSchema: { type: 'object', properties: ARGUMENTS[name] ?? {}, required: Object.keys(ARGUMENTS[name] ?? {}) },
}));

const user = (content: object) => ({ role: 'user', content });

/** Prompts with their arguments, and what they say. */
const PROMPTS: Readonly<Record<string, readonly [readonly string[], (args: JsonObject) => readonly object[]]>> = {
  test_simple_prompt: [[], () => [user(textBlock('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [user(textBlock(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`))],
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    ({ resourceUri }) => [
      user(resourceBlock(String(resourceUri), 'Embedded resource content for testing.')),
      user(textBlock('Please process the embedded resource above.')),
    ],
  ],
  test_prompt_with_image: [[], () => [user(imageBlock), user(textBlock('Please analyze the image above.'))]],
  test_input_required_result_prompt: [[], () => []],
};

const LISTED_PROMPTS = Object.entries(PROMPTS).map(([name, [args]]) => ({
  name,
  description: `Is asked for by the conformance suite: ${name}.`,
  arguments: args.map((argument) => ({ name: argument, required: true })),
}));

const RESOURCES = [
  { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Nothing has changed.' },
];
const LISTED_RESOURCES = RESOURCES.map(({ uri, mimeType }) => ({
  uri,
  mimeType,
  name: uri.slice('test://'.length),
  description: `Is read by the conformance suite: ${uri}.`,
}));
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/;
const LISTED_TEMPLATES = [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }];

const served = (name: string): Method => SERVED_METHODS.byName.get(name)!;

/** A method of the program with more in its result. */
function extended(name: string, extend: (result: JsonObject, call: MethodCall) => object): Method {
  const method = served(name);
  return {
    ...method,
    async computeResult(call) {
      const members = await method.computeResult!(call);
      return members instanceof RpcError ? members : membersOf(extend(JSON.parse(`{${members}}`) as JsonObject, call));
    },
  };
}

const withMore = (name: string, member: string, more: readonly object[]): Method =>
  extended(name, (result) => ({ ...result, [member]: [...(result[member] as readonly object[]), ...more] }));

const withCapabilities = (name: string): Method =>
  extended(name, (result, { era }) => ({
    ...result,
    capabilities: {
      ...(result['capabilities'] as JsonObject),
      completions: {},
      ...(era === 'legacy' ? { logging: {}, resources: { subscribe: true } } : {}),
    },
  }));

const callTool: Method = {
  ...served('tools/call'),
  serve(call) {
    const { name, arguments: args } = call.message.params;
    const fixture = typeof name === 'string' && Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
    if (fixture === undefined) return served('tools/call').serve!(call);
    void Promise.resolve(fixture(call, isObject(args) ? args : {})).catch((error: unknown) =>
      call.respondWithProblem(error),
    );
  },
};

const getPrompt: Method = {
  ...served('prompts/get'),
  serve(call) {
    const { name, arguments: args = {} } = call.message.params;
    if (name === 'test_input_required_result_prompt') return askingPrompt(call);
    const fixture = typeof name === 'string' && Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined;
    if (fixture !== undefined)
      return call.respondWithResult(membersOf({ messages: fixture[1](isObject(args) ? args : {}) }));
    const result = served('prompts/get').computeResult!(call);
    if (result instanceof RpcError) return call.respondWithError(result);
    return call.respondWithResult(result as string);
  },
};

const readResource: Method = {
  ...served('resources/read'),
  computeResult(call) {
    const { uri } = call.message.params;
    const found = RESOURCES.find((resource) => resource.uri === uri);
    if (found !== undefined) return membersOf({ contents: [found] });
    const id = typeof uri === 'string' ? TEMPLATE.exec(uri)?.[1] : undefined;
    if (id === undefined) return served('resources/read').computeResult!(call);
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return membersOf({ contents: [{ uri, mimeType: 'application/json', text }] });
  },
};

const EMPTY = (): string => '';

const METHODS: readonly Method[] = [
  withCapabilities('server/discover'),
  withCapabilities('initialize'),
  withMore('tools/list', 'tools', LISTED_TOOLS),
  withMore('prompts/list', 'prompts', LISTED_PROMPTS),
  withMore('resources/list', 'resources', LISTED_RESOURCES),
  withMore('resources/templates/list', 'resourceTemplates', LISTED_TEMPLATES),
  callTool,
  getPrompt,
  readResource,
  {
    name: 'completion/complete',
    computeResult: ({ message }) =>
      isObject(message.params['ref'])
        ? membersOf({ completion: { values: [], total: 0, hasMore: false } })
        : invalidParams('"ref" must be what is completed.'),
  },
  { name: 'logging/setLevel', era: 'legacy', computeResult: EMPTY },
  { name: 'resources/subscribe', era: 'legacy', computeResult: EMPTY },
  { name: 'resources/unsubscribe', era: 'legacy', computeResult: EMPTY },
];

/** Methods of a server with the profile. */
export const CONFORMANCE_METHODS: ServedMethods = {
  byName: new Map([...SERVED_METHODS.byName, ...METHODS.map((method) => [method.name, method] as const)]),
  takeReply: (reply) => requests.take(reply),
};
