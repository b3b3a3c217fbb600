/** The numbers that an IPv6 address is made of, however it is spelled. */

const GROUPS = 8;

/** The eight groups of an IPv6 address in any of its spellings (RFC 4291 section 2.2), without its zone. */
export function ipv6Groups(address: string): number[] {
  const [plain = ''] = address.split('%');
  const [left = '', right] = plain.split('::');
  const head = groupsOfPart(left);
  if (right === undefined) return head;
  const tail = groupsOfPart(right);
  return [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => 0), ...tail];
}

/** The IPv4 address that two groups hold, as `192.0.2.1`. */
export function ipv4InGroups(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

function groupsOfPart(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
