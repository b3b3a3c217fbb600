/** Who is signed in, in this tab and in the others of this browser. */
import { useQuery } from '@tanstack/react-query';
import { armGate } from '../api/gate.js';
import { api, ask, takeToken } from '../api/client.js';
import type { Me } from '../api/schemas.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { LOCALES, speak } from '../words/locale.js';

const ME = ['me'] as const;
/** Tabs tell each other who signed in or out. */
const tabs = new BroadcastChannel('trailgate-session');

const idOf = (me: Me | null): string | null => (me === null ? null : (me.member?.id ?? `portal ${me.session?.id}`));

/** Takes over who is signed in. */
function settle(me: Me): Me {
  takeToken(me.csrf_token ?? '');
  armGate(true);
  const locale = LOCALES.find((each) => each === me.member?.locale);
  if (locale !== undefined && document.documentElement.lang !== locale) void speak(locale);
  return me;
}

async function readMe(): Promise<Me | null> {
  try {
    return settle(await ask(api.GET('/admin/v1/me')));
  } catch (error) {
    if (!hasCode(error, 'session_ended', 'missing_credentials')) throw error;
    armGate(false);
    return null;
  }
}

/** Who is signed in: null where nobody is. */
export const useSession = () => useQuery({ queryKey: ME, queryFn: readMe, staleTime: 60_000 });

/** Who is signed in, for what is shown only then. */
export function useMe(): Me {
  const { data } = useSession();
  if (data === null || data === undefined) throw new Error('This is shown to those who are signed in');
  return data;
}

/** Takes over the session that a sign-in began. Where it is somebody else's than before, nothing of theirs stays. */
export function signedIn(me: Me): void {
  const before = queries.getQueryData<Me | null>(ME) ?? null;
  if (before !== null && idOf(before) !== idOf(me)) return location.assign('/');
  queries.setQueryData(ME, settle(me));
  tabs.postMessage('signed in');
}

/** Nothing that was read stays in this tab. */
function forget(): void {
  armGate(false);
  takeToken('');
  queries.clear();
  queries.setQueryData(ME, null);
}

/** Signs out, here and in the other tabs. */
export async function signOut(): Promise<void> {
  await ask(api.POST('/admin/v1/sign-out'));
  forget();
  tabs.postMessage('signed out');
}

/** Follows what other tabs say. */
export function followOtherTabs(): void {
  tabs.addEventListener('message', ({ data }) => {
    if (data === 'signed out') forget();
    else void queries.invalidateQueries({ queryKey: ME });
  });
}
