/**
 * Form fields of a webhook endpoint, and their validation. The create dialog and the edit dialog share these fields.
 */
import { Stack, Switch, TextInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import type { Checks } from '../layout/form.js';
import { useFieldError } from '../layout/form-errors.js';
import { useNumberCheck } from '../layout/number-field.js';
import type { EndpointValues } from './endpoint-values.js';
import { EventTypePicker } from './event-type-picker.js';
import { secondsOf } from './pauses.js';
import { SendingFields } from './sending-fields.js';
import { useDestinationText } from './webhook-labels.js';

interface EndpointFieldsProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
}

/** Returns the validation errors of the form, by API field name. False means that the field is valid. */
export function useEndpointChecks(values: EndpointValues): Checks {
  const { t } = useLingui();
  const check = useNumberCheck();
  const isWrongSchedule = values.retries === 'own' && secondsOf(values.pauses) === null;
  return {
    url: values.url.trim() === '' && t`Fill this in.`,
    // For the API, an empty list means all event types, so the form rejects an empty selection.
    event_types: !values.isAll && values.eventTypes.length === 0 && t`Choose at least one event.`,
    retry_schedule: isWrongSchedule && t`Enter up to 20 delays, each up to a day, together up to seven days.`,
    rate_per_second: check(values.ratePerSecond, { min: 1, max: 1_000 }),
    concurrency: check(values.concurrency, { min: 1, max: 50 }),
    timeout_ms: check(values.timeoutSeconds, { min: 1, max: 30, isFraction: true }),
  };
}

export function EndpointFields({ values, onChange }: EndpointFieldsProps) {
  const { t } = useLingui();
  const destination = useDestinationText();
  const urlError = useFieldError('url', ({ code }) => (code === undefined ? undefined : destination(code)));
  const descriptionError = useFieldError('description');
  return (
    <Stack gap="lg">
      <TextInput
        label={t`URL`}
        description={t`A public HTTPS URL that accepts POST requests.`}
        placeholder="https://shop.example.com/webhooks"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
        maxLength={2_048}
        data-autofocus
        value={values.url}
        error={urlError}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
      />
      <TextInput
        label={t`Description`}
        description={t`Shown only in this dashboard.`}
        autoComplete="off"
        maxLength={500}
        value={values.description}
        error={descriptionError}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <EventTypePicker values={values} onChange={onChange} />
      <Switch
        label={t`Ordered delivery`}
        description={t`Deliver events for the same object in sequence. A failed event holds back later ones.`}
        checked={values.isOrdered}
        onChange={(event) => onChange({ isOrdered: event.currentTarget.checked })}
      />
      <SendingFields values={values} onChange={onChange} />
    </Stack>
  );
}
