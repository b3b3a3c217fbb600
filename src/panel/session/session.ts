/** Who is signed in, in this tab and in the others of this browser. */
import { useQuery } from '@tanstack/react-query';
import { armGate, passGate, passSignIn } from '../api/gate.js';
import { api, ask, takeToken } from '../api/client.js';
import type { Me } from '../api/schemas.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { firstLocale, LOCALES, speak } from '../words/locale.js';

const ME = ['me'] as const;
/** Tabs tell each other which session this browser has now: its id, null for none. */
const tabs = new BroadcastChannel('trailgate-session');
const tell = (me: Me | null): void => tabs.postMessage(me?.session?.id ?? null);

const idOf = (me: Me | null): string | null => (me === null ? null : (me.member?.id ?? `portal ${me.session?.id}`));

const known = (): Me | null => queries.getQueryData<Me | null>(ME) ?? null;
const isSomebodyElse = (before: Me | null, me: Me): boolean => before !== null && idOf(before) !== idOf(me);

/** Loads the page anew: nothing stays of what somebody else saw here. */
function startOver(): void {
  forget();
  location.reload();
}

/** Takes over who is signed in. */
function settle(me: Me): Me {
  takeToken(me.csrf_token ?? '');
  armGate(true);
  passSignIn();
  const locale = LOCALES.find((each) => each === me.member?.locale) ?? firstLocale();
  // Who is no member has the language that the page has.
  if (me.member !== null && document.documentElement.lang !== locale) void speak(locale);
  return me;
}

async function readMe(): Promise<Me | null> {
  const before = known();
  try {
    const me = await ask(api.GET('/admin/v1/me'));
    if (before?.session?.id !== me.session?.id) tell(me);
    if (!isSomebodyElse(before, me)) return settle(me);
    startOver();
    return null;
  } catch (error) {
    if (!hasCode(error, 'session_ended', 'missing_credentials')) throw error;
    const still = known();
    if (still === null) armGate(false);
    // Over the page, where what was typed stays. Not for who has signed in again since this was asked.
    else if (still.session?.id === before?.session?.id) void passGate('sign_in', []);
    return still;
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
  tell(me);
  if (isSomebodyElse(known(), me)) {
    armGate(false);
    return location.assign('/');
  }
  // What the address said of the sign-in is over with it.
  if (location.pathname === '/sign-in') history.replaceState(null, '', '/');
  queries.setQueryData(ME, settle(me));
}

/** Reads anew who is signed in: what they are, or their session, is another one now. */
export const readMeAgain = (): Promise<void> => queries.refetchQueries({ queryKey: ME });

/** Nothing that was read stays in this tab. */
function forget(): void {
  armGate(false);
  takeToken('');
  // First of all, so that no page is left that needs somebody; never removed, or nobody would hear of it.
  queries.setQueryData(ME, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
  queries.getMutationCache().clear();
}

/** Signs out, here and in the other tabs. */
export async function signOut(): Promise<void> {
  await ask(api.POST('/admin/v1/sign-out'));
  forget();
  tell(null);
}

/** Follows what other tabs say. */
export function followOtherTabs(): void {
  tabs.addEventListener('message', ({ data }) => {
    if (data === null) forget();
    else if (data !== known()?.session?.id) void queries.invalidateQueries({ queryKey: ME });
  });
}
