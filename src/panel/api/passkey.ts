/** Asks the browser for an existing passkey, or to create a new passkey. Loads the WebAuthn library on first use. */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { components } from './admin-api.js';

type RequestOptions = components['schemas']['PasskeyRequestOptions'];
type CreationOptions = components['schemas']['PasskeyCreationOptions'];
type PasskeyResponse = components['schemas']['PasskeyResponse'];
type RegistrationResponse = components['schemas']['PasskeyRegistrationResponse'];

/** Reports whether this browser supports passkeys. */
export const supportsPasskeys = (): boolean => typeof PublicKeyCredential === 'function';

/** PasskeyCanceled means that the user canceled the browser's dialog, or that the dialog timed out. */
export class PasskeyCanceled extends Error {
  override readonly name = 'PasskeyNotShown';
}

/** PasskeyAlreadyExists means that the device already has a passkey of this member. */
export class PasskeyAlreadyExists extends Error {
  override readonly name = 'PasskeyThereAlready';
}

/**
 * Asks the user for an existing passkey. Rejects with `PasskeyCanceled` if the user cancels, and with other errors of
 * the browser.
 */
export async function showPasskey(options: RequestOptions): Promise<PasskeyResponse> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  // The OpenAPI document types some WebAuthn enumerations as plain strings.
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const { id, rawId, response } = await startAuthentication({ optionsJSON }).catch(throwPasskeyError);
  const { clientDataJSON, authenticatorData, signature, userHandle = null } = response;
  return { id, rawId, type: 'public-key', response: { clientDataJSON, authenticatorData, signature, userHandle } };
}

/**
 * Creates a passkey. Rejects with `PasskeyCanceled` or `PasskeyAlreadyExists`, and with other errors of the browser.
 */
export async function makePasskey(options: CreationOptions): Promise<RegistrationResponse> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const { id, rawId, response } = await startRegistration({ optionsJSON }).catch(throwPasskeyError);
  const { clientDataJSON, attestationObject, transports = [] } = response;
  return { id, rawId, type: 'public-key', response: { clientDataJSON, attestationObject, transports } };
}

/** Throws the panel's error for a known WebAuthn error. Throws other errors unchanged. */
function throwPasskeyError(cause: unknown): never {
  const name = cause instanceof Error ? cause.name : '';
  if (name === 'InvalidStateError') throw new PasskeyAlreadyExists('There already', { cause });
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyCanceled('Not shown', { cause });
  throw cause;
}
