/** Code samples that verify webhooks, in several languages. A test runs every sample whose language is installed. */
import { PUBLIC_KEYS_PATH } from '../../proxy/routing/built-in-paths.js';

/** Origin in the samples. The reference replaces this origin with the actual one. */
export const SAMPLE_ORIGIN = 'https://api.example.com';

/** WebhookSample is a code sample of the guide. */
export interface WebhookSample {
  readonly title: string;
  /** Language of the Markdown code block, such as `js`. */
  readonly language: string;
  readonly code: string;
}

const JAVASCRIPT = String.raw`import { createHmac, timingSafeEqual } from 'node:crypto';

// headers: names in lower case, as node:http has them. body: the raw request body, as a Buffer.
export function verifyWebhook(secret, headers, body) {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  const signatures = (headers['webhook-signature'] ?? '').split(' ');
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const hmac = createHmac('sha256', key).update(id + '.' + timestamp + '.').update(body);
  const expected = Buffer.from('v1,' + hmac.digest('base64'));
  return signatures.some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}`;

const JAVASCRIPT_PUBLIC_KEY = String.raw`import { createPublicKey, verify } from 'node:crypto';

// Returns the keys of your endpoint, "whe_…". Cache them for five minutes. During a rotation there are several.
export async function publicKeysOf(endpointId) {
  const url = '${SAMPLE_ORIGIN}${PUBLIC_KEYS_PATH}?endpoint=' + endpointId;
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error('No public keys: ' + response.status);
  return (await response.json()).keys.map(({ key }) => key);
}

// publicKey: a "whpk_…" of the endpoint. Accept the webhook if any of the keys verifies it.
// It can verify webhooks, and cannot create any.
export function verifyWebhook(publicKey, headers, body) {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  const signatures = (headers['webhook-signature'] ?? '').split(' ');
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const content = Buffer.concat([Buffer.from(id + '.' + timestamp + '.'), body]);
  return signatures.some((signature) => {
    const given = Buffer.from(signature.slice('v1a,'.length), 'base64');
    return signature.startsWith('v1a,') && verify(null, content, key, given);
  });
}`;

const PYTHON = String.raw`import base64
import hashlib
import hmac
import time


# headers: names in lower case. body: the raw request body, as bytes.
def verify_webhook(secret, headers, body):
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").split(" ")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{webhook_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
    return any(hmac.compare_digest(given.encode(), expected) for given in signatures)`;

const PHP = String.raw`// $headers: names in lower case. $body: file_get_contents('php://input').
function verifyWebhook(string $secret, array $headers, string $body): bool
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $signatures = explode(' ', $headers['webhook-signature'] ?? '');
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $content = $id . '.' . $timestamp . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $content, $key, true));
    foreach ($signatures as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}`;

const GO = String.raw`package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// VerifyWebhook reports whether a webhook is genuine. body: the bytes as received.
func VerifyWebhook(secret string, headers http.Header, body []byte) bool {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	now := time.Now().Unix()
	if err != nil || seconds < now-300 || seconds > now+300 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), expected) {
			return true
		}
	}
	return false
}`;

const SHELL = String.raw`# verify_webhook SECRET ID TIMESTAMP SIGNATURES BODY_FILE
# For a check by hand only: other users of the machine can see the secret in the list of processes.
verify_webhook() {
  case "$3" in '' | *[!0-9]*) return 1 ;; esac
  age=$(($(date +%s) - $3))
  [ "$age" -le 300 ] && [ "$age" -ge -300 ] || return 1
  key=$(printf %s "$1" | sed 's/^whsec_//' | base64 -d | od -An -v -tx1 | tr -d ' \n')
  expected=$({ printf '%s.%s.' "$2" "$3"; cat "$5"; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  case " $4 " in *" v1,$expected "*) return 0 ;; esac
  return 1
}`;

const SHELL_PUBLIC_KEY = String.raw`# public_keys_of ENDPOINT_ID: one a line; while keys are rotated there are several.
public_keys_of() {
  curl -fsS --max-time 5 "${SAMPLE_ORIGIN}${PUBLIC_KEYS_PATH}?endpoint=$1" |
    grep -o 'whpk_[A-Za-z0-9+/=]*'
}

# verify_webhook PUBLIC_KEY ID TIMESTAMP SIGNATURES BODY_FILE
# It needs openssl 3. The twelve bytes before the key make DER of it (RFC 8410).
verify_webhook() {
  case "$3" in '' | *[!0-9]*) return 1 ;; esac
  age=$(($(date +%s) - $3))
  [ "$age" -le 300 ] && [ "$age" -ge -300 ] || return 1
  folder=$(mktemp -d) || return 1
  { printf '0*0\005\006\003+ep\003!\000'; printf %s "$1" | sed 's/^whpk_//' | base64 -d; } >"$folder/key"
  { printf '%s.%s.' "$2" "$3"; cat "$5"; } >"$folder/content"
  verdict=1
  for signature in $4; do
    case "$signature" in v1a,*) ;; *) continue ;; esac
    printf %s "$signature" | sed 's/^v1a,//' | base64 -d >"$folder/signature" 2>/dev/null || continue
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$folder/key" -rawin -in "$folder/content" \
      -sigfile "$folder/signature" >/dev/null 2>&1 && verdict=0
  done
  rm -r "$folder"
  return "$verdict"
}`;

/** All samples, in the order of the guide. */
export const WEBHOOK_SAMPLES: readonly WebhookSample[] = [
  { title: 'JavaScript', language: 'js', code: JAVASCRIPT },
  { title: 'JavaScript, with the public key', language: 'js', code: JAVASCRIPT_PUBLIC_KEY },
  { title: 'Python', language: 'python', code: PYTHON },
  { title: 'PHP', language: 'php', code: PHP },
  { title: 'Go', language: 'go', code: GO },
  { title: 'Shell, with openssl', language: 'sh', code: SHELL },
  { title: 'Shell, with curl, openssl and the public key', language: 'sh', code: SHELL_PUBLIC_KEY },
];
