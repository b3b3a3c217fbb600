/** The code in docs/webhooks.md and on /docs verifies signed webhooks, in each language that the machine has. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  formatPublicKey,
  formatWebhookSecret,
  newSigningSeed,
  newWebhookSecret,
  privateKeyOf,
} from '../../src/webhooks/signing/webhook-secret.js';
import { signatureFields } from '../../src/webhooks/signing/webhook-signature.js';
import { webhookGuide } from '../../src/reference/webhooks/webhook-guide.js';
import { describeUnless } from '../support/describe-with.js';

const PAGE = readFileSync('docs/webhooks.md', 'utf8');
const JS_PROGRAM = `
import { readFileSync } from 'node:fs';
const [key, id, timestamp, signature, file] = process.argv.slice(2);
const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
process.exit(verifyWebhook(key, headers, readFileSync(file)) ? 0 : 3);`;
/** Returns the path of an interpreter, so that calls do not run a slow script of a version manager. */
function interpreterOf(command: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : command;
}

/**
 * Programs around the samples, with their commands. They exit with 0 if they accept a delivery, and with 3 if they
 * refuse it.
 */
const PROGRAMS: Readonly<Record<string, { file: string; program: (code: string) => string; command: string[] }>> = {
  JavaScript: { file: 'shared.mjs', program: (code) => code + JS_PROGRAM, command: [process.execPath] },
  'JavaScript, with the public key': {
    file: 'public.mjs',
    program: (code) => code + JS_PROGRAM,
    command: [process.execPath],
  },
  Python: {
    file: 'verify.py',
    program: (code) => `${code}
import sys
key, i, t, s, file = sys.argv[1:]
headers = {"webhook-id": i, "webhook-timestamp": t, "webhook-signature": s}
sys.exit(0 if verify_webhook(key, headers, open(file, "rb").read()) else 3)`,
    command: [interpreterOf('python3', ['-c', 'import sys; print(sys.executable)'])],
  },
  PHP: {
    file: 'verify.php',
    program: (code) => `<?php
${code}
[, $key, $i, $t, $s, $file] = $argv;
$headers = ['webhook-id' => $i, 'webhook-timestamp' => $t, 'webhook-signature' => $s];
exit(verifyWebhook($key, $headers, file_get_contents($file)) ? 0 : 3);`,
    command: ['php'],
  },
  Go: {
    file: 'verify.go',
    program: (code) =>
      `${code.replace('"net/http"', '"net/http"\n"os"')}
func main() {
	headers := http.Header{}
	headers.Set("webhook-id", os.Args[2])
	headers.Set("webhook-timestamp", os.Args[3])
	headers.Set("webhook-signature", os.Args[4])
	body, _ := os.ReadFile(os.Args[5])
	if !VerifyWebhook(os.Args[1], headers, body) {
		os.Exit(3)
	}
}`,
    command: [],
  },
  'Shell, with openssl': {
    file: 'verify.sh',
    program: (code) => `${code}\nverify_webhook "$@" || exit 3`,
    command: ['sh'],
  },
  'Shell, with curl, openssl and the public key': {
    file: 'public.sh',
    program: (code) => `${code}\nverify_webhook "$@" || exit 3`,
    command: ['sh'],
  },
};

const secret = newWebhookSecret();
const privateKey = privateKeyOf(newSigningSeed());
const successor = newWebhookSecret();
const successorKey = privateKeyOf(newSigningSeed());
const BODY = '{"type":"customer.created","data":{"name":"Añá 🚣","id":"cus_1"}}\n';

interface Delivery {
  readonly what: string;
  readonly isGood: boolean;
  readonly aheadS?: number;
  readonly isOverlap?: boolean;
  readonly id?: string;
  readonly body?: string;
  readonly isOtherKey?: boolean;
  readonly timestamp?: string;
}

const DELIVERIES: readonly Delivery[] = [
  { what: 'as it was sent', isGood: true },
  { what: 'four minutes late', isGood: true, aheadS: -240 },
  { what: 'four minutes early', isGood: true, aheadS: 240 },
  { what: 'during a rotation', isGood: true, isOverlap: true },
  { what: 'with another body', isGood: false, body: BODY.replace('cus_1', 'cus_2') },
  { what: 'with another id', isGood: false, id: 'evt_other' },
  { what: 'with another time', isGood: false, timestamp: String(Math.floor(Date.now() / 1_000) - 100) },
  { what: 'with a time that is no number', isGood: false, timestamp: 'soon' },
  { what: '301 s late', isGood: false, aheadS: -301 },
  { what: '360 s early', isGood: false, aheadS: 360 },
  { what: 'of another endpoint', isGood: false, isOtherKey: true },
];

const folder = mkdtempSync(join(tmpdir(), 'webhook-samples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the code below a heading, as a reader of the page copies it. */
function codeOf(title: string): string {
  const section = PAGE.split(`### ${title}\n`)[1] ?? '';
  return /```\w+\n(.*?)\n```/s.exec(section)?.[1] ?? '';
}

/** Returns why a language cannot be tested here, or null. */
function missing(title: string): string | null {
  const command = title === 'Go' ? 'go' : (PROGRAMS[title]?.command[0] ?? '');
  const { error } = spawnSync(command, [title === 'Go' ? 'version' : '--version']);
  return error === undefined ? null : `needs ${command}`;
}

/** Returns the exit status of the program for a delivery. */
function statusOf(title: string, command: readonly string[], delivery: Delivery): number | null {
  const isPublic = title.includes('public key');
  const fields = signatureFields('evt_01jd3k', Date.now() + (delivery.aheadS ?? 0) * 1_000, Buffer.from(BODY), {
    secrets: [...(delivery.isOverlap ? [successor] : []), delivery.isOtherKey ? newWebhookSecret() : secret],
    privateKeys: [
      ...(delivery.isOverlap ? [successorKey] : []),
      delivery.isOtherKey ? privateKeyOf(newSigningSeed()) : privateKey,
    ],
  });
  const file = join(folder, 'body');
  writeFileSync(file, delivery.body ?? BODY);
  const [program = '', ...args] = command;
  return spawnSync(program, [
    ...args,
    isPublic ? formatPublicKey(privateKey) : formatWebhookSecret(secret),
    delivery.id ?? fields['webhook-id'],
    delivery.timestamp ?? fields['webhook-timestamp'],
    fields['webhook-signature'],
    file,
  ]).status;
}

describe.each(Object.keys(PROGRAMS))('the code in %s', (title) => {
  describeUnless(missing(title))('on a machine that has it', () => {
    let command: readonly string[] = [];

    beforeAll(() => {
      const { file, program, command: interpreter } = PROGRAMS[title] ?? { file: '', program: String, command: [] };
      const path = join(folder, file);
      writeFileSync(path, program(codeOf(title)));
      command = [...interpreter, path];
      if (title !== 'Go') return;
      const built = spawnSync('go', ['build', '-o', join(folder, 'verify'), path], { encoding: 'utf8' });
      if (built.status !== 0) throw new Error(built.stderr);
      command = [join(folder, 'verify')];
    }, 240_000);

    it.each(DELIVERIES)('judges a webhook $what correctly', (delivery) => {
      expect(statusOf(title, command, delivery)).toBe(delivery.isGood ? 0 : 3);
    });
  });
});

it('docs/webhooks.md has the same text as /docs', () => {
  expect(PAGE).toBe(`# Receive webhooks\n\n${webhookGuide()}`);
});
