/** Converts between customers and table rows. The rows store lists and objects as JSON. */
import type { Activity, Customer, EmergencyContact } from '../model/customer.js';
import type { CustomerTable } from './schema.js';
import { searchText } from '../model/search-text.js';

export function toRow(accountId: string, customer: Customer): CustomerTable {
  return {
    id: customer.id,
    account_id: accountId,
    first_name: customer.first_name,
    last_name: customer.last_name,
    email: customer.email,
    phone: customer.phone,
    language: customer.language,
    birth_date: customer.birth_date,
    activities: JSON.stringify(customer.activities),
    status: customer.status,
    emergency_contact: customer.emergency_contact === null ? null : JSON.stringify(customer.emergency_contact),
    waiver_signed_at: customer.waiver_signed_at,
    notes: customer.notes,
    search_text: searchText(customer),
    created_at: customer.created_at,
    updated_at: customer.updated_at,
  };
}

export function fromRow(row: Omit<CustomerTable, 'account_id' | 'search_text'>): Customer {
  return {
    ...row,
    activities: JSON.parse(row.activities) as Activity[],
    emergency_contact: row.emergency_contact === null ? null : (JSON.parse(row.emergency_contact) as EmergencyContact),
  };
}
