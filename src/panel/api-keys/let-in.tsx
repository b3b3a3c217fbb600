/** By whom and when an assistant was let in by OAuth, beside the key that it was let in by. */
import { Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import type { Key } from './keys.js';
import { useAccount } from '../session/accounts.js';
import { useFormats } from '../words/times.js';

/** An OAuth client that was let in. */
export type LetInClient = NonNullable<Key['oauth_client']>;

/** What a client is known by: where it is at home, else the name that it has given itself. */
export const placeOf = ({ host, name }: LetInClient): string => host ?? name;

interface LetInProps {
  readonly of: Key;
  readonly client: LetInClient;
}

/** For a row of a list: which assistant, by whom and since when. */
export function LetIn({ of: key, client }: LetInProps) {
  const place = placeOf(client);
  return (
    <Text size="sm" c="dimmed" component="div">
      <div className="name">
        <Trans>Connected with OAuth: {place}</Trans>
      </div>
      <Since of={key} client={client} />
    </Text>
  );
}

/** Who let it in, and on which day. */
export function Since({ of: key, client }: LetInProps) {
  const { time_zone: timeZone } = useAccount();
  const { date } = useFormats(timeZone);
  const day = date(key.created_at);
  const { let_in_by: member } = client;
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

/** What is known of a client: whether its name is its own. */
export function WhoIsIt({ client: { host, name } }: { readonly client: LetInClient }) {
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
