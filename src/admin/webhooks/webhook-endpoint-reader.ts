/** Builds the API resources of webhook endpoints, with public keys and the number of pending deliveries. */
import { Inject, Injectable } from '@nestjs/common';
import { AccountStore } from '../../accounts/accounts.js';
import type { WebhookEndpoint } from '../../webhooks/endpoints/endpoint-rows.js';
import { DeliveryReader } from '../../webhooks/management/delivery-reader.js';
import { WebhookSecrets, type WebhookPublicKey } from '../../webhooks/signing/secret-store.js';
import type { Clock } from '../../platform/clock.js';
import { CLOCK } from '../access/recent-confirmation.js';
import {
  webhookEndpointResource,
  type WebhookEndpointDetailResource,
  type WebhookEndpointResource,
} from './webhook-endpoint.resource.js';

@Injectable()
export class WebhookEndpointReader {
  constructor(
    private readonly accounts: AccountStore,
    private readonly secrets: WebhookSecrets,
    private readonly deliveries: DeliveryReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Returns the active public signing keys of endpoints, by endpoint ID. */
  publicKeys(ids: readonly string[]): Promise<ReadonlyMap<string, readonly WebhookPublicKey[]>> {
    return this.secrets.publicKeys(ids, this.clock.now());
  }

  /**
   * Returns the API resource of an endpoint, with its public keys.
   * @param timeZone time zone of the account; read from the database if undefined
   */
  async resource(endpoint: WebhookEndpoint, timeZone?: string): Promise<WebhookEndpointResource> {
    const keys = await this.publicKeys([endpoint.id]);
    const zone = timeZone ?? (await this.accounts.get(endpoint.accountId)).timeZone;
    return webhookEndpointResource(endpoint, keys.get(endpoint.id) ?? [], zone);
  }

  /** Returns the API resource of an endpoint, with its public keys and the number of pending deliveries. */
  async detail(endpoint: WebhookEndpoint): Promise<WebhookEndpointDetailResource> {
    return { ...(await this.resource(endpoint)), waiting: await this.deliveries.countWaiting(endpoint.id) };
  }
}
