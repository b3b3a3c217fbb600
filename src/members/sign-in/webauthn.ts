/**
 * Creates WebAuthn options for browsers, and verifies the responses of browsers. Invalid responses cause
 * `WebAuthnRefusal`.
 */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';

/**
 * Accepted algorithms: the COSE identifiers of ES256, EdDSA and RS256. The library's default adds an experimental
 * algorithm with keys of 1.3 kB.
 */
const ALGORITHMS = [-7, -8, -257];
const TIMEOUT_MS = 5 * 60_000;

/** RelyingParty identifies the panel to browsers (WebAuthn). Passkeys of another host or origin are refused. */
export interface RelyingParty {
  /** Host name of the panel, without a port. */
  readonly id: string;
  readonly origin: string;
  /** Display name in the browser. */
  readonly name: string;
}

/** PasskeyOwner is the member whom a passkey is registered for. */
export interface PasskeyOwner {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** KeptPasskey holds the stored fields of a passkey that verification needs. */
export interface KeptPasskey {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
}

/** NewPasskey is the result of a registration. */
export interface NewPasskey extends KeptPasskey {
  readonly deviceType: string;
  readonly isBackedUp: boolean;
}

/** UsedPasskey is the result of an authentication. `counter` is the passkey's new signature counter. */
export interface UsedPasskey {
  readonly counter: number;
  readonly isBackedUp: boolean;
}

/** WebAuthnRefusal reports an invalid response of a browser. Only the log may contain its message. */
export class WebAuthnRefusal extends Error {
  override readonly name = 'WebAuthnRefusal';
}

/** Loads the library at first use, because loading takes 0.18 s and 30 MB of memory. */
const loadLibrary = () => import('@simplewebauthn/server');

/** Creates registration options. The options exclude the member's passkeys, so that each device registers only once. */
export async function registrationOptions(
  party: RelyingParty,
  owner: PasskeyOwner,
  kept: readonly Pick<KeptPasskey, 'credentialId' | 'transports'>[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await loadLibrary();
  return await generateRegistrationOptions({
    rpName: party.name,
    rpID: party.id,
    userID: new TextEncoder().encode(owner.id),
    userName: owner.email,
    userDisplayName: owner.name,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: kept.map(descriptorOf),
    // Require a discoverable passkey, so that no user name is needed. Require user verification, so that the passkey
    // counts as two factors.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** Creates authentication options for the given passkeys. An empty list allows any passkey of this host. */
export async function authenticationOptions(
  party: RelyingParty,
  kept: readonly Pick<KeptPasskey, 'credentialId' | 'transports'>[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadLibrary();
  return await generateAuthenticationOptions({
    rpID: party.id,
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: kept.map(descriptorOf),
  });
}

/**
 * Verifies a browser's response to a registration.
 * @throws WebAuthnRefusal for a wrong challenge, origin, host or signature, or without user verification
 */
export async function verifiedRegistration(
  party: RelyingParty,
  challenge: string,
  response: RegistrationResponseJSON,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await loadLibrary();
  const { verified, registrationInfo } = await asRefusal(() =>
    verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (!verified || registrationInfo === undefined) throw new WebAuthnRefusal('The registration is not verified');
  const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo;
  return {
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: credential.transports ?? [],
    deviceType: credentialDeviceType,
    isBackedUp: credentialBackedUp,
  };
}

/**
 * Verifies that a passkey signed this challenge.
 * @returns the new counter, and whether the passkey is backed up
 * @throws WebAuthnRefusal as `verifiedRegistration` does, and if the counter did not increase (except from 0 to 0),
 * which indicates a clone
 */
export async function verifiedAuthentication(
  party: RelyingParty,
  challenge: string,
  response: AuthenticationResponseJSON,
  { credentialId, publicKey, counter, transports }: KeptPasskey,
): Promise<UsedPasskey> {
  const { verifyAuthenticationResponse } = await loadLibrary();
  const credential = {
    id: credentialId,
    publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
    counter,
    transports: [...transports],
  };
  const { verified, authenticationInfo } = await asRefusal(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential,
      requireUserVerification: true,
    }),
  );
  if (!verified) throw new WebAuthnRefusal('The signature is not that of the passkey');
  return { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp };
}

function descriptorOf({ credentialId, transports }: Pick<KeptPasskey, 'credentialId' | 'transports'>) {
  return { id: credentialId, transports: [...transports] };
}

/**
 * Runs a verification of the library. Converts each of its errors to a `WebAuthnRefusal`, because each concerns the
 * response.
 */
async function asRefusal<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (cause) {
    throw new WebAuthnRefusal(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
