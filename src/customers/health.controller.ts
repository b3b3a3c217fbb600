/**
 * Serves the health check, which tests this process and its database. Requests need no account. An unavailable database
 * causes 503.
 */
import { Controller, Get } from '@nestjs/common';
import { CustomersRepository } from './customers.repository.js';
import { RequestError } from './errors.js';

@Controller('health')
export class HealthController {
  constructor(private readonly customers: CustomersRepository) {}

  @Get() // 503
  async health(): Promise<{ status: 'ok' }> {
    try {
      await this.customers.ping();
    } catch {
      throw new RequestError('database_unavailable', 'The database cannot be reached right now.');
    }
    return { status: 'ok' };
  }
}
