/** The signed-in user, in sync across tabs of this browser. */
import { useQuery } from '@tanstack/react-query';
import { armGate, passGate, passSignIn } from '../api/gate.js';
import { api, unwrap, setCsrfToken } from '../api/client.js';
import type { Me } from '../api/schemas.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { firstLocale, LOCALES, activateLocale } from '../words/locale.js';

const ME = ['me'] as const;
/** Tabs exchange the id of the browser's current session; null for none. */
const tabs = new BroadcastChannel('trailgate-session');
const notifyTabs = (me: Me | null): void => tabs.postMessage(me?.session?.id ?? null);

const idOf = (me: Me | null): string | null => (me === null ? null : (me.member?.id ?? `portal ${me.session?.id}`));

const known = (): Me | null => queries.getQueryData<Me | null>(ME) ?? null;
const isSomebodyElse = (before: Me | null, me: Me): boolean => before !== null && idOf(before) !== idOf(me);

/** Reloads the page, so that no data of the previous user stays. */
function startOver(): void {
  clearTab();
  location.reload();
}

/** Applies the signed-in user: CSRF token, gate and language. */
function applySession(me: Me): Me {
  setCsrfToken(me.csrf_token ?? '');
  armGate(true);
  passSignIn();
  const locale = LOCALES.find((each) => each === me.member?.locale) ?? firstLocale();
  // Portal users keep the page's language.
  if (me.member !== null && document.documentElement.lang !== locale) void activateLocale(locale);
  return me;
}

async function readMe(): Promise<Me | null> {
  const before = known();
  try {
    const me = await unwrap(api.GET('/admin/v1/me'));
    if (before?.session?.id !== me.session?.id) notifyTabs(me);
    if (!isSomebodyElse(before, me)) return applySession(me);
    startOver();
    return null;
  } catch (error) {
    if (!hasCode(error, 'session_ended', 'missing_credentials')) throw error;
    const still = known();
    if (still === null) armGate(false);
    // Ask for sign-in over the page, so form values stay. Skip it if the user signed in again in the meantime.
    else if (still.session?.id === before?.session?.id) void passGate('sign_in', []);
    return still;
  }
}

/** Reads the signed-in user; null if there is none. */
export const useSession = () => useQuery({ queryKey: ME, queryFn: readMe, staleTime: 60_000 });

/** Returns the signed-in user. Use it only on pages that require sign-in. */
export function useMe(): Me {
  const { data } = useSession();
  if (data === null || data === undefined) throw new Error('This is shown to those who are signed in');
  return data;
}

/** Applies the session of a new sign-in. If the user is a different one, the page is loaded anew. */
export function signedIn(me: Me): void {
  notifyTabs(me);
  if (isSomebodyElse(known(), me)) {
    armGate(false);
    return location.assign('/');
  }
  // Leave the sign-in page's address.
  if (location.pathname === '/sign-in') history.replaceState(null, '', '/');
  queries.setQueryData(ME, applySession(me));
}

/** Refetches the user after their profile or session changed. */
export const readMeAgain = (): Promise<void> => queries.refetchQueries({ queryKey: ME });

/** Removes all data from this tab. */
function clearTab(): void {
  armGate(false);
  setCsrfToken('');
  // Set this first, to unmount pages that need a user. Never remove the query, or observers would miss the change.
  queries.setQueryData(ME, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
  queries.getMutationCache().clear();
}

/** Signs out in this and all other tabs. */
export async function signOut(): Promise<void> {
  await unwrap(api.POST('/admin/v1/sign-out'));
  clearTab();
  notifyTabs(null);
}

/** Follows sign-ins and sign-outs of other tabs. */
export function followOtherTabs(): void {
  tabs.addEventListener('message', ({ data }) => {
    if (data === null) clearTab();
    else if (data !== known()?.session?.id) void queries.invalidateQueries({ queryKey: ME });
  });
}
