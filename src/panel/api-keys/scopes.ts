/** Groups the scopes of the public API for forms, and provides their labels in the language of the page. */
import { useLingui } from '@lingui/react/macro';
import { type Scope, useScopes } from './keys.js';

/** Scope for full access, including scopes that are added later. */
export const EVERYTHING = '*';

export interface ScopeGroup {
  /** Heading of the group, such as `Customers`, in the language of the page if a translation exists. */
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const groupOf = (scope: string): string => scope.split(':')[0] ?? scope;
const isWildcard = (scope: string): boolean => scope.endsWith('*');
const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/[-_]/g, ' ');

const isReadScope = (scope: string): boolean => /:(?:read|list|get|view)$/.test(scope);

/**
 * Groups all scopes except wildcards. Read-only scopes come first in each group. @param locale language of the page.
 */
export function scopeGroups(scopes: readonly Scope[], locale: string): readonly ScopeGroup[] {
  const groups = new Map<string, Scope[]>();
  for (const scope of scopes) {
    if (isWildcard(scope.scope)) continue;
    const name = scope.translations[locale]?.group ?? scope.group ?? capitalize(groupOf(scope.scope));
    groups.set(name, [...(groups.get(name) ?? []), scope]);
  }
  return [...groups].map(([name, each]) => ({
    name,
    // Most keys need only read-only scopes.
    scopes: each.toSorted((one, other) => Number(other.read_only) - Number(one.read_only)),
  }));
}

/**
 * Returns the translated names of resources, by the part of a scope before the colon. Omits resources without a
 * translation, and names that several resources share.
 */
function resourceNames(scopes: readonly Scope[], locale: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { scope, translations } of scopes) {
    const group = translations[locale]?.group;
    if (typeof group === 'string')
      names.set(groupOf(scope), group.charAt(0).toLocaleLowerCase(locale) + group.slice(1));
  }
  const isUnique = (name: string): boolean => [...names.values()].filter((each) => each === name).length === 1;
  return new Map([...names].filter(([, name]) => isUnique(name)));
}

/** ScopeLabels returns the labels of scopes in the language of the page. */
export interface ScopeLabels {
  /** Returns a short label for lists, such as `Read customers`. */
  short(scope: string): string;
  /** Returns the description from the OpenAPI document, or the short label if there is no description. */
  long(scope: string): string;
}

/** Returns the labels of scopes. Until the scopes are loaded, the labels are derived from the names of the scopes. */
export function useScopeLabels(): ScopeLabels {
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
    if (isReadScope(scope)) return t`Read ${resource}`;
    if (verb === 'write') return t`Change ${resource}`;
    if (verb === 'delete') return t`Delete ${resource}`;
    return `${capitalize(resource)}: ${verb}`;
  };
  return { short, long: (scope) => described.get(scope) ?? short(scope) };
}
