/** Groups and labels of scopes. */
import { useLingui } from '@lingui/react/macro';
import { type Scope, useScopes } from './keys.js';

/** The scope for full access, including future permissions. */
export const EVERYTHING = '*';

export interface ScopeGroup {
  /** `customers` */
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const groupOf = (scope: string): string => scope.split(':')[0] ?? scope;
const isWildcard = (scope: string): boolean => scope.endsWith('*');
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/[-_]/g, ' ');

const seemsToRead = (scope: string): boolean => /:(?:read|list|get|view)$/.test(scope);

/** Groups the scopes that can be chosen one by one, without wildcards. @param locale language of the page. */
export function scopeGroups(scopes: readonly Scope[], locale: string): readonly ScopeGroup[] {
  const groups = new Map<string, Scope[]>();
  for (const scope of scopes) {
    if (isWildcard(scope.scope)) continue;
    const name = scope.translations[locale]?.group ?? scope.group ?? capital(groupOf(scope.scope));
    groups.set(name, [...(groups.get(name) ?? []), scope]);
  }
  return [...groups].map(([name, each]) => ({
    name,
    // Read access comes first: most keys need only that.
    scopes: each.toSorted((one, other) => Number(other.read_only) - Number(one.read_only)),
  }));
}

/** Returns translated names of resources, where the OpenAPI document has them. */
function resourceNames(scopes: readonly Scope[], locale: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { scope, translations } of scopes) {
    const group = translations[locale]?.group;
    if (typeof group === 'string')
      names.set(groupOf(scope), group.charAt(0).toLocaleLowerCase(locale) + group.slice(1));
  }
  // A scope over several resources names none of them.
  const isOfOne = (name: string): boolean => [...names.values()].filter((each) => each === name).length === 1;
  return new Map([...names].filter(([, name]) => isOfOne(name)));
}

/** Labels of scopes. */
export interface ScopeWords {
  /** Short label, for lists. */
  short(scope: string): string;
  /** Description from the OpenAPI document, else the short label. */
  long(scope: string): string;
}

/** Returns labels of scopes in the language of the page, where the OpenAPI document has them. */
export function useScopeWords(): ScopeWords {
  const { t, i18n } = useLingui();
  const { data } = useScopes();
  const scopes = data?.data ?? [];
  const { locale } = i18n;
  const described = new Map(
    scopes.map(({ scope, description, translations }) => [
      scope,
      (translations[locale]?.description ?? description)?.replace(/\.$/, ''),
    ]),
  );
  const resources = resourceNames(scopes, locale);
  const short = (scope: string): string => {
    if (scope === EVERYTHING) return t`Everything`;
    const resource = resources.get(groupOf(scope)) ?? groupOf(scope).replaceAll(/[-_]/g, ' ');
    const verb = scope.slice(scope.indexOf(':') + 1);
    if (verb === '*') return t`Everything about ${resource}`;
    if (seemsToRead(scope)) return t`Read ${resource}`;
    if (verb === 'write') return t`Change ${resource}`;
    if (verb === 'delete') return t`Delete ${resource}`;
    return `${capital(resource)}: ${verb}`;
  };
  return { short, long: (scope) => described.get(scope) ?? short(scope) };
}
