/** What the codes of the public API mean, and what to do about them. */
import { useLingui } from '@lingui/react/macro';

export interface CodeWords {
  readonly means: string;
  readonly advice: string;
}

/** The words for a code; undefined for one that is its own backend's. */
export function useCodeWords(): (code: string) => CodeWords | undefined {
  const { t } = useLingui();
  const wrongKey = t`Compare the last four characters of the secret with the list of keys.`;
  const again = t`Try again; nothing was charged.`;
  const words: Readonly<Record<string, CodeWords>> = {
    missing_api_key: { means: t`No key was sent.`, advice: t`Send the key in the Authorization header.` },
    malformed_authorization: {
      means: t`The key was sent in a wrong form.`,
      advice: t`Send: Authorization: Bearer, a space, the key.`,
    },
    invalid_api_key: { means: t`There is no such key.`, advice: wrongKey },
    revoked_api_key: { means: t`The key was revoked.`, advice: t`Create a new one and put it where this one was.` },
    expired_api_key: {
      means: t`The time of the key is over.`,
      advice: t`Give the key more time, or create a new one.`,
    },
    key_paused: { means: t`The key is paused.`, advice: t`Resume it on its page.` },
    ip_not_allowed: {
      means: t`The key may not be used from this address.`,
      advice: t`Add the address to the key, or remove its list of addresses.`,
    },
    tls_required: { means: t`The request was not encrypted.`, advice: t`Use https, and rotate the key.` },
    insufficient_scope: {
      means: t`The key may not do this.`,
      advice: t`Change what the key may do, or use another one.`,
    },
    account_suspended: { means: t`The account is suspended.`, advice: t`Talk to whoever runs this API.` },
    invalid_idempotency_key: {
      means: t`The Idempotency-Key was sent in a wrong form.`,
      advice: t`Send one of up to 255 printable characters, such as a UUID.`,
    },
    idempotency_in_progress: {
      means: t`The same request is still being carried out.`,
      advice: t`Send it again a little later.`,
    },
    idempotency_mismatch: {
      means: t`The Idempotency-Key belongs to another request.`,
      advice: t`Take a new key for each new request.`,
    },
    idempotency_outcome_unknown: {
      means: t`Nobody knows whether the request was carried out.`,
      advice: t`Look whether it had its effect; if not, send it with a new key.`,
    },
    idempotency_not_stored: {
      means: t`The request was carried out before, and its response was not kept.`,
      advice: t`Read what it has made.`,
    },
    too_many_idempotent_retries: {
      means: t`Requests were repeated too often.`,
      advice: t`Wait longer each time between two tries.`,
    },
    idempotency_unavailable: { means: t`Idempotency keys could not be looked up.`, advice: again },
    rate_limited: {
      means: t`Too many requests within a minute.`,
      advice: t`Send them more slowly, or spread them over the minute.`,
    },
    quota_exceeded: {
      means: t`The requests of the month are used up.`,
      advice: t`Wait for the next month, or ask for a larger plan.`,
    },
    route_not_found: {
      means: t`There is nothing at this address of the API.`,
      advice: t`Compare the address with the documentation.`,
    },
    method_not_allowed: {
      means: t`This address does not take this method.`,
      advice: t`Compare the method with the documentation.`,
    },
    validation_failed: { means: t`Something in the request was not right.`, advice: t`The response names the fields.` },
    backend_timeout: { means: t`The service behind the API took too long.`, advice: again },
    backend_unreachable: { means: t`The service behind the API could not be reached.`, advice: again },
    backend_unavailable: { means: t`The service behind the API could not be reached.`, advice: again },
    backend_bad_response: { means: t`The service behind the API sent what nobody can read.`, advice: again },
    backend_error: {
      means: t`The service behind the API failed.`,
      advice: t`Try again; if it stays so, tell support.`,
    },
    forbidden: { means: t`The service behind the API refused it.`, advice: t`The response says why.` },
    resource_not_found: { means: t`There is nothing with this number.`, advice: t`Look whether it still exists.` },
  };
  return (code) => words[code];
}
