/** Passkeys of this browser. What speaks with the authenticator is loaded when somebody wants it to. */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { components } from './admin-api.js';

type RequestOptions = components['schemas']['PasskeyRequestOptions'];
type CreationOptions = components['schemas']['PasskeyCreationOptions'];
type Shown = components['schemas']['PasskeyResponse'];
type Made = components['schemas']['PasskeyRegistrationResponse'];

/** Whether this browser knows what passkeys are. */
export const knowsPasskeys = (): boolean => typeof PublicKeyCredential === 'function';

/** Somebody said no, or let the browser's dialog wait too long. */
export class PasskeyNotShown extends Error {
  override readonly name = 'PasskeyNotShown';
}

/** The authenticator has a passkey of this member already. */
export class PasskeyThereAlready extends Error {
  override readonly name = 'PasskeyThereAlready';
}

/** Has the browser show a passkey. Rejects with `PasskeyNotShown`. */
export async function showPasskey(options: RequestOptions): Promise<Shown> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  // The API's description has words where WebAuthn has lists of words.
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const { id, rawId, response } = await startAuthentication({ optionsJSON }).catch(refused);
  const { clientDataJSON, authenticatorData, signature, userHandle = null } = response;
  return { id, rawId, type: 'public-key', response: { clientDataJSON, authenticatorData, signature, userHandle } };
}

/** Has the browser make a passkey. Rejects with `PasskeyNotShown` or `PasskeyThereAlready`. */
export async function makePasskey(options: CreationOptions): Promise<Made> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const { id, rawId, response } = await startRegistration({ optionsJSON }).catch(refused);
  const { clientDataJSON, attestationObject, transports = [] } = response;
  return { id, rawId, type: 'public-key', response: { clientDataJSON, attestationObject, transports } };
}

function refused(cause: unknown): never {
  const name = cause instanceof Error ? cause.name : '';
  if (name === 'InvalidStateError') throw new PasskeyThereAlready('There already', { cause });
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyNotShown('Not shown', { cause });
  throw cause;
}
