/** Reads the signed-in user, and keeps all tabs of this browser in sync with sign-ins and sign-outs. */
import { useQuery } from '@tanstack/react-query';
import { armGate, passGate, passSignIn } from '../api/gate.js';
import { api, unwrap, setCsrfToken } from '../api/client.js';
import type { Me } from '../api/schemas.js';
import { hasCode } from '../api/problem.js';
import { queries } from '../api/queries.js';
import { firstLocale, LOCALES, activateLocale } from '../words/locale.js';

const ME = ['me'] as const;
/** Channel on which tabs send the ID of the browser's current session. Null: signed out. */
const tabs = new BroadcastChannel('trailgate-session');
const notifyTabs = (me: Me | null): void => tabs.postMessage(me?.session?.id ?? null);

/** Returns an ID of the user. A portal user has no member ID, so the session stands for the user. */
const idOf = (me: Me | null): string | null => (me === null ? null : (me.member?.id ?? `portal ${me.session?.id}`));

/** Returns the user that this tab knows. Null if there is none. */
const cachedMe = (): Me | null => queries.getQueryData<Me | null>(ME) ?? null;
const isOtherUser = (before: Me | null, me: Me): boolean => before !== null && idOf(before) !== idOf(me);

/** Removes all data and reloads the page, so that no data of the previous user remains. */
function reloadPage(): void {
  clearTab();
  location.reload();
}

/** Applies the CSRF token and the language of the signed-in user, and arms the gate. */
function applySession(me: Me): Me {
  setCsrfToken(me.csrf_token ?? '');
  armGate(true);
  passSignIn();
  const locale = LOCALES.find((each) => each === me.member?.locale) ?? firstLocale();
  // Portal users have no language of their own, so they keep the language of the page.
  if (me.member !== null && document.documentElement.lang !== locale) void activateLocale(locale);
  return me;
}

/** Reads the user from the API. Null if nobody is signed in. Reloads the page if another user has signed in. */
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
    // Open the sign-in dialog over the page, so form values are not lost. Not if the user signed in again meanwhile.
    else if (current.session?.id === before?.session?.id) void passGate('sign_in', []);
    return current;
  }
}

/** Query hook for the signed-in user. Its data is null if nobody is signed in. */
export const useSession = () => useQuery({ queryKey: ME, queryFn: readMe, staleTime: 60_000 });

/** Returns the signed-in user. Throws if there is none, so use this hook only on pages that require sign-in. */
export function useMe(): Me {
  const { data } = useSession();
  if (data === null || data === undefined) throw new Error('This is shown to those who are signed in');
  return data;
}

/** Applies a new sign-in. If another user was signed in before, loads the start page anew. */
export function signedIn(me: Me): void {
  notifyTabs(me);
  if (isOtherUser(cachedMe(), me)) {
    armGate(false);
    return location.assign('/');
  }
  // The URL must not stay that of the sign-in page.
  if (location.pathname === '/sign-in') history.replaceState(null, '', '/');
  queries.setQueryData(ME, applySession(me));
}

/** Refetches the user after their profile or session changed. */
export const readMeAgain = (): Promise<void> => queries.refetchQueries({ queryKey: ME });

/** Removes all data of the user from this tab. */
function clearTab(): void {
  armGate(false);
  setCsrfToken('');
  // Set the user to null first, which unmounts pages that need a user. Removing the query would not notify components.
  queries.setQueryData(ME, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
  queries.getMutationCache().clear();
}

/** Ends the session, and removes its data from this tab and all other tabs. */
export async function signOut(): Promise<void> {
  await unwrap(api.POST('/admin/v1/sign-out'));
  clearTab();
  notifyTabs(null);
}

/** Starts to follow sign-ins and sign-outs in other tabs. Call once at startup. */
export function followOtherTabs(): void {
  tabs.addEventListener('message', ({ data }) => {
    if (data === null) clearTab();
    else if (data !== cachedMe()?.session?.id) void queries.invalidateQueries({ queryKey: ME });
  });
}
