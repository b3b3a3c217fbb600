/**
 * Defines the errors for destinations that the gateway refuses to connect to, with a message for the person who entered
 * the URL.
 */
import type { AddressReason } from './address-rules.js';

/** UrlReason is the reason why a URL is refused before its name is resolved. */
export type UrlReason =
  | 'not_a_url'
  | 'too_long'
  | 'scheme'
  | 'userinfo'
  | 'fragment'
  | 'port'
  | 'host_spelling'
  | 'trailing_dot'
  | 'name_malformed'
  | 'name_not_public';

/**
 * OutboundReason is the reason why a destination is refused. Reasons are part of the API, so their meaning must never
 * change.
 */
export type OutboundReason = UrlReason | AddressReason;

const WORDS: Readonly<Record<OutboundReason, string>> = {
  not_a_url: 'is not an absolute https URL',
  too_long: 'is longer than 2,048 characters',
  scheme: 'must begin with https://',
  userinfo: 'must not hold a user name or password',
  fragment: 'must not hold a fragment (#…), which is never sent',
  port: 'has a port that is not allowed',
  host_spelling: 'has a host that is spelled in an unusual way',
  trailing_dot: 'has a host that ends in a dot',
  name_malformed: 'has a host that is no domain name',
  name_not_public: 'has a host that is not on the public internet',
  not_an_address: 'leads to an invalid address',
  unspecified: 'leads to this machine',
  loopback: 'leads to this machine',
  private: 'leads to a private network',
  shared: 'leads to a private network',
  link_local: 'leads to a link-local address',
  cloud_metadata: 'leads to a service of the cloud that this runs in',
  multicast: 'leads to a multicast address',
  documentation: 'leads to an address that is for documentation only',
  benchmarking: 'leads to an address that is for measurements only',
  reserved: 'leads to a reserved address',
  transition: 'leads to an address that stands for another one (NAT64, 6to4, Teredo, ISATAP)',
  embedded_ipv4: 'leads to an IPv4 address that is written as IPv6',
  not_global: 'leads to an address that is not on the public internet',
  denied: 'leads to a network that the operator has blocked',
};

/**
 * OutboundRefused is thrown when a destination is refused. Its message continues a sentence that begins with “The URL”.
 */
export class OutboundRefused extends Error {
  override readonly name = 'OutboundRefused';

  /** @param what the refused address, host or port, if it helps the reader. */
  constructor(
    readonly reason: OutboundReason,
    readonly what?: string,
  ) {
    super(what === undefined ? WORDS[reason] : `${WORDS[reason]} (${what})`);
  }
}
