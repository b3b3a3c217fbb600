/**
 * Reads the signed-in user, and keeps all tabs of this browser in sync with sign-ins and sign-outs. When the user
 * changes, tabs drop the data of the previous user.
 */
import { useQuery } from '@tanstack/react-query';
import { armGate, passGate, passSignIn } from '../api/gate.js';
import { api, unwrap, setCsrfToken } from '../api/client.js';
import type { Me } from '../api/schemas.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { firstLocale, LOCALES, activateLocale } from '../words/locale.js';

const ME = ['me'] as const;
/** Channel between the tabs of this browser. A message is the ID of the current session, or null after sign-out. */
const tabs = new BroadcastChannel('trailgate-session');
const notifyTabs = (me: Me | null): void => tabs.postMessage(me?.session?.id ?? null);

/**
 * Returns an ID of the user, or null for no user. A portal user has no member ID, so the session ID identifies the
 * user.
 */
const idOf = (me: Me | null): string | null => (me === null ? null : (me.member?.id ?? `portal ${me.session?.id}`));

/** Returns the user whose data this tab has cached. Null if there is none. */
const cachedMe = (): Me | null => queries.getQueryData<Me | null>(ME) ?? null;
const isOtherUser = (before: Me | null, me: Me): boolean => before !== null && idOf(before) !== idOf(me);

/** Removes all data and reloads the page. No data of the previous user remains. */
function reloadPage(): void {
  clearTab();
  location.reload();
}

/**
 * Applies the CSRF token and the language of the signed-in user, arms the gate, and repeats requests that wait for a
 * sign-in. Returns the user.
 */
function applySession(me: Me): Me {
  setCsrfToken(me.csrf_token ?? '');
  armGate(true);
  passSignIn();
  const locale = LOCALES.find((each) => each === me.member?.locale) ?? firstLocale();
  // Portal users have no language in a profile, so they keep the language of the page.
  if (me.member !== null && document.documentElement.lang !== locale) void activateLocale(locale);
  return me;
}

/**
 * Reads the user from the API. Returns null if nobody was signed in. If the session of the cached user has ended, opens
 * the sign-in gate and keeps that user. Reloads the page if another user has signed in.
 */
async function readMe(): Promise<Me | null> {
  const before = cachedMe();
  try {
    const me = await unwrap(api.GET('/admin/v1/me'));
    if (before?.session?.id !== me.session?.id) notifyTabs(me);
    if (!isOtherUser(before, me)) return applySession(me);
    reloadPage();
    return null;
  } catch (error) {
    if (!hasCode(error, 'session_ended', 'missing_credentials')) throw error;
    const current = cachedMe();
    if (current === null) armGate(false);
    // Open the sign-in dialog over the page, so that form values are not lost. Skip this if the user has signed in
    // again in the meantime.
    else if (current.session?.id === before?.session?.id) void passGate('sign_in', []);
    return current;
  }
}

/**
 * Reads the signed-in user. The data is null before sign-in and after sign-out. After the session has expired, the data
 * stays, so that the page stays open.
 */
export const useSession = () => useQuery({ queryKey: ME, queryFn: readMe, staleTime: 60_000 });

/** Returns the signed-in user. Throws if nobody is signed in, so use this hook only on pages that require sign-in. */
export function useMe(): Me {
  const { data } = useSession();
  if (data === null || data === undefined) throw new Error('This is shown to those who are signed in');
  return data;
}

/** Applies a new sign-in to all tabs. If another user was signed in before, loads the start page again. */
export function signedIn(me: Me): void {
  notifyTabs(me);
  if (isOtherUser(cachedMe(), me)) {
    armGate(false);
    return location.assign('/');
  }
  // After sign-in, the URL must no longer be the URL of the sign-in page.
  if (location.pathname === '/sign-in') history.replaceState(null, '', '/');
  queries.setQueryData(ME, applySession(me));
}

/** Refetches the signed-in user after a change of the profile or session. */
export const refetchMe = (): Promise<void> => queries.refetchQueries({ queryKey: ME });

/** Removes all data of the user from this tab, and disarms the gate. */
function clearTab(): void {
  armGate(false);
  setCsrfToken('');
  // Set the user to null first. This unmounts pages that need a user. Removing the query would not notify components.
  queries.setQueryData(ME, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
  queries.getMutationCache().clear();
}

/** Ends the session, and removes its data from all tabs. If the request fails, rejects and keeps the data. */
export async function signOut(): Promise<void> {
  await unwrap(api.POST('/admin/v1/sign-out'));
  clearTab();
  notifyTabs(null);
}

/** Starts to follow sign-ins and sign-outs in other tabs. Call this function once at startup. */
export function followOtherTabs(): void {
  tabs.addEventListener('message', ({ data }) => {
    if (data === null) clearTab();
    else if (data !== cachedMe()?.session?.id) void queries.invalidateQueries({ queryKey: ME });
  });
}
