/** Uses and creates passkeys in this browser. The WebAuthn library is loaded on first use. */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { components } from './admin-api.js';

type RequestOptions = components['schemas']['PasskeyRequestOptions'];
type CreationOptions = components['schemas']['PasskeyCreationOptions'];
type Shown = components['schemas']['PasskeyResponse'];
type Made = components['schemas']['PasskeyRegistrationResponse'];

/** Reports whether this browser supports passkeys. */
export const knowsPasskeys = (): boolean => typeof PublicKeyCredential === 'function';

/** The user canceled the browser's dialog, or it timed out. */
export class PasskeyNotShown extends Error {
  override readonly name = 'PasskeyNotShown';
}

/** The authenticator already has a passkey of this member. */
export class PasskeyThereAlready extends Error {
  override readonly name = 'PasskeyThereAlready';
}

/** Asks the browser for a passkey. Rejects with `PasskeyNotShown`. */
export async function showPasskey(options: RequestOptions): Promise<Shown> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  // The OpenAPI document types some WebAuthn enumerations as plain strings.
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const { id, rawId, response } = await startAuthentication({ optionsJSON }).catch(refused);
  const { clientDataJSON, authenticatorData, signature, userHandle = null } = response;
  return { id, rawId, type: 'public-key', response: { clientDataJSON, authenticatorData, signature, userHandle } };
}

/** Creates a passkey in the browser. Rejects with `PasskeyNotShown` or `PasskeyThereAlready`. */
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
