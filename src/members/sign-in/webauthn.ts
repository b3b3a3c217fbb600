/** WebAuthn as this program uses it: which options a browser is given, and whether what comes back is true. */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';

/** ES256, EdDSA and RS256: what authenticators have. The library's default adds an experiment with keys of 1.3 kB. */
const ALGORITHMS = [-7, -8, -257];
const TIMEOUT_MS = 5 * 60_000;

/** RelyingParty is who asks for a passkey: a passkey of another host or origin is none. */
export interface RelyingParty {
  /** The host of the panel's address, without a port. */
  readonly id: string;
  readonly origin: string;
  /** As the browser shows it. */
  readonly name: string;
}

/** PasskeyOwner is whom a passkey is made for. */
export interface PasskeyOwner {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** KeptPasskey is what is stored of a passkey, as far as it is compared. */
export interface KeptPasskey {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
}

/** NewPasskey is what a registration has brought. */
export interface NewPasskey extends KeptPasskey {
  readonly deviceType: string;
  readonly isBackedUp: boolean;
}

/** UsedPasskey is what a use has told of a passkey. */
export interface UsedPasskey {
  readonly counter: number;
  readonly isBackedUp: boolean;
}

/** A response that is not true; the reason is for the log. */
export class WebAuthnRefusal extends Error {
  override readonly name = 'WebAuthnRefusal';
}

/** 0.18 s and 30 MB: who has no passkeys does not pay for them. */
const load = () => import('@simplewebauthn/server');

/** What a browser makes a passkey by. Those that the member has are excluded: one device makes one. */
export async function registrationOptions(
  party: RelyingParty,
  owner: PasskeyOwner,
  kept: readonly Pick<KeptPasskey, 'credentialId' | 'transports'>[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await load();
  return await generateRegistrationOptions({
    rpName: party.name,
    rpID: party.id,
    userID: new TextEncoder().encode(owner.id),
    userName: owner.email,
    userDisplayName: owner.name,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: kept.map(descriptorOf),
    // Discoverable: nobody types a name. Verified by finger, face or PIN: it is two factors by itself.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** What a browser shows a passkey by: one of these, or, where there are none, any that it has for this host. */
export async function authenticationOptions(
  party: RelyingParty,
  kept: readonly Pick<KeptPasskey, 'credentialId' | 'transports'>[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await load();
  return await generateAuthenticationOptions({
    rpID: party.id,
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: kept.map(descriptorOf),
  });
}

/** @throws WebAuthnRefusal for another challenge, origin or host, without verification, or with a wrong signature. */
export async function verifiedRegistration(
  party: RelyingParty,
  challenge: string,
  response: RegistrationResponseJSON,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await load();
  const { verified, registrationInfo } = await refusing(() =>
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
 * Checks that a passkey has signed this challenge.
 * @returns its counter from now on, and whether it is backed up.
 * @throws WebAuthnRefusal as above, and where its counter has gone back: there are two of it.
 */
export async function verifiedAuthentication(
  party: RelyingParty,
  challenge: string,
  response: AuthenticationResponseJSON,
  { credentialId, publicKey, counter, transports }: KeptPasskey,
): Promise<UsedPasskey> {
  const { verifyAuthenticationResponse } = await load();
  const credential = {
    id: credentialId,
    publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
    counter,
    transports: [...transports],
  };
  const { verified, authenticationInfo } = await refusing(() =>
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

/** Whatever the library throws is about what it was sent. */
async function refusing<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (cause) {
    throw new WebAuthnRefusal(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
