/** The fields of an endpoint, for making and for changing one. */
import { Stack, Switch, TextInput } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import { hasCode } from '../api/problem.js';
import type { EndpointValues } from './endpoint-values.js';
import { EventTypePicker } from './event-type-picker.js';
import { SendingFields } from './sending-fields.js';
import { useDestinationWords } from './webhook-words.js';

interface EndpointFieldsProps {
  readonly values: EndpointValues;
  readonly error: unknown;
  readonly onChange: (change: Partial<EndpointValues>) => void;
}

/** What to say at a field that the API did not take. */
function useFieldErrors(error: unknown): (field: string) => string | undefined {
  const { t } = useLingui();
  const destination = useDestinationWords();
  const words: Readonly<Record<string, string>> = {
    description: t`Write at most 500 characters.`,
    event_types: t`Choose only what is listed, a hundred at most.`,
    rate_per_second: t`From 1 to 1,000.`,
    concurrency: t`From 1 to 50.`,
    timeout_ms: t`From 1 to 30.`,
  };
  const refused = hasCode(error, 'validation_failed') ? error.fields : [];
  return (field) => {
    const found = refused.find(({ field: name }) => name.split('/')[0] === field);
    if (found === undefined) return undefined;
    return field === 'url' ? destination(found.code ?? 'not_a_url') : (words[field] ?? '');
  };
}

export function EndpointFields({ values, error, onChange }: EndpointFieldsProps) {
  const { t } = useLingui();
  const errorOf = useFieldErrors(error);
  return (
    <Stack gap="lg">
      <TextInput
        label={t`URL`}
        description={t`Where your server takes events: an https address on the public internet.`}
        placeholder="https://shop.example.com/webhooks"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        required
        withAsterisk={false}
        maxLength={2_048}
        data-autofocus
        value={values.url}
        error={errorOf('url')}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
      />
      <TextInput
        label={t`Description`}
        description={t`For the people who look at this page.`}
        autoComplete="off"
        maxLength={500}
        value={values.description}
        error={errorOf('description')}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <EventTypePicker values={values} error={errorOf('event_types')} onChange={onChange} />
      <Switch
        label={t`In order`}
        description={t`Events about the same thing arrive one after the other: behind one that fails they wait.`}
        checked={values.isOrdered}
        onChange={(event) => onChange({ isOrdered: event.currentTarget.checked })}
      />
      <SendingFields values={values} errorOf={errorOf} onChange={onChange} />
    </Stack>
  );
}
