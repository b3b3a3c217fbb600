/**
 * Defines the row types of panel members and their sign-in methods. Passwords, cookies, tokens, links and recovery
 * codes are stored only as hashes. The types must match `migrations/members-migration.ts` and later migrations.
 */

export interface MemberTable {
  /** `mem_…` */
  id: string;
  /** Address as typed. Empty if the person has asked to be erased. */
  email: string;
  /** Address in lower case, unique. The member ID if the person has asked to be erased. */
  email_key: string;
  /** When the address was verified. Null if the address is not verified. */
  email_verified_at: number | null;
  name: string;
  /** 1 for operators, who have all permissions in every account. */
  is_operator: number;
  status: 'active' | 'disabled';
  /** Argon2id hash as a PHC string. Null if the member has no password. */
  password: string | null;
  password_changed_at: number | null;
  /** Encrypted secret of the authenticator app, or null. It is valid only if `totp_confirmed_at` is set. */
  totp_secret: string | null;
  totp_confirmed_at: number | null;
  /** Time step of the last accepted code, so that no code is accepted twice. */
  totp_last_step: number;
  locale: 'en' | 'es' | null;
  version: number;
  created_at: number;
  updated_at: number;
  last_signed_in_at: number | null;
  /**
   * When the person was erased at their request. The row is kept, because the audit log refers to its ID. Null
   * otherwise.
   */
  removed_at: number | null;
}

export interface AccountMemberTable {
  account_id: string;
  member_id: string;
  role: 'owner' | 'admin' | 'viewer';
  version: number;
  created_at: number;
  updated_at: number;
}

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

/** MemberSessionTable has the signed-in browser sessions of members, and of portal links with a given role. */
export interface MemberSessionTable {
  /** SHA-256 of the cookie, lower-case hex. */
  hash: string;
  /** `ses_…`, shown in lists. */
  id: string;
  /** Null for a portal session. Only portal sessions use the next six columns. */
  member_id: string | null;
  account_id: string | null;
  role: 'owner' | 'admin' | 'viewer' | null;
  /** JSON array of the only scopes that the session may give to keys. Null for any scope. */
  scopes: string | null;
  label: string | null;
  return_url: string | null;
  /** Creator of the portal link, as an actor of the audit log. Null for a member's session. */
  created_by: string | null;
  method: 'password' | 'passkey' | 'oidc' | 'link' | 'portal';
  created_at: number;
  last_seen_at: number;
  ends_at: number;
  /** When the person last confirmed their identity. Sensitive changes require a recent confirmation. */
  confirmed_at: number;
  ip: string;
  user_agent: string;
}

/** SignInStepTable has the sign-ins in progress. */
export interface SignInStepTable {
  /** SHA-256 of the cookie or challenge that identifies the sign-in, lower-case hex. */
  hash: string;
  kind: 'second_factor' | 'passkey' | 'oidc';
  member_id: string | null;
  /** JSON with the values that the next step is checked against. */
  data: string;
  attempts: number;
  expires_at: number;
}

/** LinkTable has the single-use links: invitations, password resets, email verification, sign-in and portal. */
export interface LinkTable {
  /** SHA-256 of the token, lower-case hex. */
  hash: string;
  /** `inv_…` */
  id: string;
  /** `start` signs in the member of the demo. */
  kind: 'first_owner' | 'invitation' | 'password_reset' | 'email_verification' | 'start' | 'portal';
  account_id: string | null;
  member_id: string | null;
  email_key: string | null;
  role: 'owner' | 'admin' | 'viewer' | null;
  /** JSON with data that depends on `kind`. */
  data: string | null;
  /** Actor, as in the audit log. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  revoked_at: number | null;
}

export interface AccountTokenTable {
  /** `tok_…` */
  id: string;
  account_id: string;
  name: string;
  role: 'admin' | 'viewer';
  /** SHA-256 of the complete token, lower-case hex. */
  hash: string;
  /** Prefix and last four characters. */
  hint: string;
  /** JSON array of allowed addresses and CIDR blocks. An empty array allows any address. */
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
