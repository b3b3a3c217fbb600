/**
 * HTTP clients, used as the first example of their documentation shows: with default settings, and with retries if
 * these are a plugin or an option. `call` resolves to the client's response, or throws the client's error. `detailOf`
 * returns the `detail` of a problem from either of them. docs/clients.md contains the source text of `detailOf`.
 */

/**
 * @typedef {{ origin: string, secret: string, method: 'GET' | 'POST', path: string }} Call `path` begins with the base
 * path.
 */
/** @typedef {{ call: (call: Call) => Promise<unknown>, detailOf: (thrown: any) => unknown }} Client */

/**
 * @type {Readonly<Record<string, () => Promise<Client>>>} by package name. After a comma: settings other than the
 * default.
 */
export const CLIENTS = {
  stripe: async () => {
    const { default: Stripe } = await import('stripe');
    return {
      call: ({ origin, secret, method, path }) => {
        const { hostname, port } = new URL(origin);
        const stripe = new Stripe(secret, { host: hostname, port, protocol: 'http', telemetry: false });
        return stripe.rawRequest(method, path);
      },
      detailOf: (response) => response.detail,
    };
  },
  openai: async () => {
    const { default: OpenAI } = await import('openai');
    return {
      call: ({ origin, secret, method, path }) =>
        new OpenAI({ apiKey: secret, baseURL: origin })[method.toLowerCase()](path),
      detailOf: (error) => JSON.parse(error.message.slice(error.message.indexOf('{'))).detail,
    };
  },
  '@anthropic-ai/sdk': async () => {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    return {
      call: ({ origin, secret, method, path }) =>
        new Anthropic({ authToken: secret, apiKey: null, baseURL: origin })[method.toLowerCase()](path),
      detailOf: (error) => error.error.detail,
    };
  },
  got: async () => {
    const { default: got } = await import('got');
    return {
      call: ({ origin, secret, method, path }) => got(origin + path, { method, headers: bearer(secret) }).json(),
      detailOf: (error) => JSON.parse(error.response.body).detail,
    };
  },
  ky: async () => {
    const { default: ky } = await import('ky');
    return {
      call: ({ origin, secret, method, path }) => ky(origin + path, { method, headers: bearer(secret) }).json(),
      detailOf: (error) => error.data.detail,
    };
  },
  'axios-retry': async () => {
    const { default: axios } = await import('axios');
    const { default: axiosRetry, exponentialDelay } = await import('axios-retry');
    const client = axios.create();
    axiosRetry(client, { retries: 3, retryDelay: exponentialDelay });
    return {
      call: ({ origin, secret, method, path }) =>
        client.request({ url: origin + path, method, headers: bearer(secret) }).then(({ data }) => data),
      detailOf: (error) => error.response.data.detail,
    };
  },
  undici: () => undici({}),
  'undici, throwOnError: false': () => undici({ throwOnError: false }),
  octokit: () => octokit({}),
  'octokit, doNotRetry: [429, 500, 502, 504, …]': () =>
    octokit({
      retry: { doNotRetry: [400, 401, 403, 404, 410, 422, 429, 451, 500, 502, 504] },
      throttle: { enabled: false },
    }),
};

async function undici(options) {
  const { Agent, RetryAgent, request } = await import('undici');
  const dispatcher = new RetryAgent(new Agent(), options);
  return {
    // `RetryAgent` throws only for responses that it would retry.
    call: ({ origin, secret, method, path }) =>
      request(origin + path, { method, headers: bearer(secret), dispatcher }).then(({ body }) => body.json()),
    detailOf: (response) => response.detail,
  };
}

async function octokit(options) {
  const { Octokit } = await import('octokit');
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return {
    call: ({ origin, secret, method, path }) =>
      new Octokit({ baseUrl: origin, log, ...options })
        .request(`${method} ${path}`, { headers: bearer(secret) })
        .then(({ data }) => data),
    // Octokit parses only `application/json` as JSON.
    detailOf: (error) => JSON.parse(error.response.data).detail,
  };
}

function bearer(secret) {
  return { authorization: `Bearer ${secret}` };
}
