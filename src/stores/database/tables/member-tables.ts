/**
 * The tables of the people who use the panel and of what signs them in. Passwords, cookies, tokens, links and recovery
 * codes are in none of them as they are: only their hashes. Every row type here matches
 * `migrations/members-migration.ts`.
 */

export interface MemberTable {
  /** `mem_…` */
  id: string;
  /** As it was typed; empty where the person asked to be forgotten. */
  email: string;
  /** The same in lower case, unique; the id where the person asked to be forgotten. */
  email_key: string;
  /** When the address was proven; null: it is unverified. */
  email_verified_at: number | null;
  name: string;
  /** 1: may do everything in every account. */
  is_operator: number;
  status: 'active' | 'disabled';
  /** PHC string of argon2id; null: signs in by other ways only. */
  password: string | null;
  password_changed_at: number | null;
  /** Sealed; null: none. Counts once `totp_confirmed_at` is set. */
  totp_secret: string | null;
  totp_confirmed_at: number | null;
  /** Number of the last time step whose code was taken: no code works twice. */
  totp_last_step: number;
  locale: 'en' | 'es' | null;
  version: number;
  created_at: number;
  updated_at: number;
  last_signed_in_at: number | null;
  /** When the person asked to be forgotten; the id stays for the audit log. */
  removed_at: number | null;
}

/** What a member is in an account. */
export interface AccountMemberTable {
  account_id: string;
  member_id: string;
  role: 'owner' | 'admin' | 'viewer';
  version: number;
  created_at: number;
  updated_at: number;
}

/** A member as an identity provider knows them. */
export interface MemberIdentityTable {
  issuer: string;
  subject: string;
  member_id: string;
  email: string | null;
  created_at: number;
  last_used_at: number | null;
}

export interface MemberPasskeyTable {
  /** `psk_…` */
  id: string;
  member_id: string;
  /** base64url, unique. */
  credential_id: string;
  /** base64url. */
  public_key: string;
  counter: number;
  /** JSON array. */
  transports: string;
  device_type: string;
  backed_up: number;
  name: string;
  created_at: number;
  last_used_at: number | null;
}

export interface RecoveryCodeTable {
  /** SHA-256 of the code, lower-case hex. */
  hash: string;
  member_id: string;
  used_at: number | null;
}

/** A browser that is signed in: as a member, or through a portal link in the role that it was given. */
export interface MemberSessionTable {
  /** SHA-256 of the cookie, lower-case hex. */
  hash: string;
  /** `ses_…`, for lists. */
  id: string;
  /** Null: a portal session, which alone has the next six. */
  member_id: string | null;
  account_id: string | null;
  role: 'owner' | 'admin' | 'viewer' | null;
  /** JSON array: the only scopes that its keys may be given; null: any. */
  scopes: string | null;
  label: string | null;
  return_url: string | null;
  /** Who made the portal link, as an actor of the audit log; null: a member's session. */
  created_by: string | null;
  method: 'password' | 'passkey' | 'oidc' | 'link' | 'portal';
  created_at: number;
  last_seen_at: number;
  ends_at: number;
  /** When the person last showed that it is them. */
  confirmed_at: number;
  ip: string;
  user_agent: string;
}

/** A sign-in that has begun and is not done. */
export interface SignInStepTable {
  /** SHA-256 of the cookie or challenge that names it, lower-case hex. */
  hash: string;
  kind: 'second_factor' | 'passkey' | 'oidc';
  member_id: string | null;
  /** JSON: what the next step is checked against. */
  data: string;
  attempts: number;
  expires_at: number;
}

/** Something that is sent to a person and works once. */
export interface LinkTable {
  /** SHA-256 of the token, lower-case hex. */
  hash: string;
  /** `inv_…` */
  id: string;
  kind: 'first_owner' | 'invitation' | 'password_reset' | 'email_verification' | 'start' | 'portal';
  account_id: string | null;
  member_id: string | null;
  email_key: string | null;
  role: 'owner' | 'admin' | 'viewer' | null;
  /** JSON. */
  data: string | null;
  /** As an actor of the audit log. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  revoked_at: number | null;
}

/** A token for programs, of one account. */
export interface AccountTokenTable {
  /** `tok_…` */
  id: string;
  account_id: string;
  name: string;
  role: 'admin' | 'viewer';
  /** SHA-256 of the whole token, lower-case hex. */
  hash: string;
  /** Prefix and last four characters. */
  hint: string;
  /** JSON array of addresses and CIDR blocks; empty: any address. */
  allowed_ips: string;
  expires_at: number;
  last_used_at: number | null;
  created_by: string;
  created_at: number;
  revoked_at: number | null;
}

export interface MemberTables {
  member: MemberTable;
  account_member: AccountMemberTable;
  member_identity: MemberIdentityTable;
  member_passkey: MemberPasskeyTable;
  recovery_code: RecoveryCodeTable;
  member_session: MemberSessionTable;
  sign_in_step: SignInStepTable;
  link: LinkTable;
  account_token: AccountTokenTable;
}
