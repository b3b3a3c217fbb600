/** Components that show the OAuth client of a key, who authorized the client, and when. */
import { Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { Key } from './keys.js';
import { useAccount } from '../session/accounts.js';
import { useFormats } from '../words/times.js';

/** OAuth client for which the authorization server created a key. */
export type OAuthClient = NonNullable<Key['oauth_client']>;

/**
 * Returns the verified host of a client. If the client has no verified host, returns the unverified name that the
 * client chose.
 */
export const clientName = ({ host, name }: OAuthClient): string => host ?? name;

interface OAuthClientLinesProps {
  readonly apiKey: Key;
  readonly client: OAuthClient;
}

/** OAuthClientLines shows the client of a key in a list row, with the authorizing member and the date. */
export function OAuthClientLines({ apiKey: key, client }: OAuthClientLinesProps) {
  const place = clientName(client);
  return (
    <Text size="sm" c="dimmed" component="div">
      <div className="name">
        <Trans>Connected with OAuth: {place}</Trans>
      </div>
      <AuthorizedBy apiKey={key} client={client} />
    </Text>
  );
}

/** AuthorizedBy shows which member authorized the client, and when. If the member is unknown, shows only the date. */
export function AuthorizedBy({ apiKey: key, client }: OAuthClientLinesProps) {
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const day = date(key.created_at);
  const { authorized_by: member } = client;
  return (
    <div>
      {member === null ? (
        <Trans>since {day}</Trans>
      ) : (
        <Trans>
          by <bdi>{member}</bdi>, {day}
        </Trans>
      )}
    </div>
  );
}

/**
 * ClientIdentity shows the verified host of a client and the name that the client chose. Without a verified host, says
 * that the name is unverified.
 */
export function ClientIdentity({ client: { host, name } }: { readonly client: OAuthClient }) {
  return (
    <>
      <div className="name">{host ?? name}</div>
      <Text size="sm" c="dimmed" className="name">
        {host === null ? (
          <Trans>The app chose this name. It isn't verified.</Trans>
        ) : (
          <Trans>
            The app calls itself <bdi>{name}</bdi>.
          </Trans>
        )}
      </Text>
    </>
  );
}
