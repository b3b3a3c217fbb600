/** Form field for the event types of a webhook endpoint: all events, families such as `customer.*`, or single types. */
import { Checkbox, Input, Radio, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useFieldError } from '../layout/form-errors.js';
import { Failure } from '../words/failure.js';
import type { EndpointValues } from './endpoint-values.js';
import { useEventDescription } from './webhook-labels.js';
import { useEventTypes } from './webhooks.js';

interface EventTypePickerProps {
  readonly values: Pick<EndpointValues, 'isAll' | 'eventTypes'>;
  readonly onChange: (change: Partial<EndpointValues>) => void;
}

/** Returns the family of an event type, such as `customer.*` for `customer.created`. */
const familyOf = (type: string): string => `${type.slice(0, type.lastIndexOf('.'))}.*`;

export function EventTypePicker({ values, onChange }: EventTypePickerProps) {
  const { t } = useLingui();
  const error = useFieldError('event_types');
  return (
    <Stack gap="xs">
      <Radio.Group
        label={t`Events to send`}
        value={values.isAll ? 'all' : 'some'}
        onChange={(value) => onChange({ isAll: value === 'all' })}
      >
        <Stack gap={8} pt={6}>
          <Radio value="all" label={t`All events, including future ones`} />
          <Radio value="some" label={t`Select events`} />
        </Stack>
      </Radio.Group>
      {!values.isAll && <Types chosen={values.eventTypes} onChange={(eventTypes) => onChange({ eventTypes })} />}
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </Stack>
  );
}

interface TypesProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function Types({ chosen, onChange }: TypesProps) {
  const { t } = useLingui();
  const describe = useEventDescription();
  const { data, error, refetch } = useEventTypes();
  if (error !== null && data === undefined) return <Failure error={error} again={() => void refetch()} />;
  const types = data?.data ?? [];
  const families = Map.groupBy(types, ({ type }) => familyOf(type));
  // Types that no longer exist stay visible, so that the user can deselect them.
  const others = chosen.filter((each) => !families.has(each) && !types.some(({ type }) => type === each));
  // A selected family covers its types, so selecting a family deselects its single types.
  const toggle = (pattern: string, isChosen: boolean): void =>
    onChange(
      isChosen
        ? [...chosen.filter((each) => each === pattern || familyOf(each) !== pattern), pattern]
        : chosen.filter((each) => each !== pattern),
    );
  return (
    <Stack gap="sm" pl="xl" role="group" aria-label={t`Types of events`}>
      {types.length === 0 && data !== undefined && (
        <Text size="sm" c="dimmed">
          <Trans>No event types yet.</Trans>
        </Text>
      )}
      {[...families].map(([family, ofFamily]) => (
        <Stack key={family} gap={6}>
          <Pattern pattern={family} about={t`All events of this type`} chosen={chosen} onToggle={toggle} />
          <Stack gap={6} pl="xl">
            {ofFamily.map((eventType) => (
              <Pattern
                key={eventType.type}
                pattern={eventType.type}
                about={describe(eventType)}
                chosen={chosen}
                isCovered={chosen.includes(family)}
                onToggle={toggle}
              />
            ))}
          </Stack>
        </Stack>
      ))}
      {others.map((pattern) => (
        <Pattern key={pattern} pattern={pattern} about={null} chosen={chosen} onToggle={toggle} />
      ))}
    </Stack>
  );
}

interface PatternProps {
  /** Event type, or a family such as `customer.*`. */
  readonly pattern: string;
  /** Description of the pattern. Null if there is none. */
  readonly about: string | null;
  readonly chosen: readonly string[];
  /** Whether the family of the event type is selected. If so, the user cannot deselect the single type. */
  readonly isCovered?: boolean;
  readonly onToggle: (pattern: string, isChosen: boolean) => void;
}

function Pattern({ pattern, about, chosen, isCovered = false, onToggle }: PatternProps) {
  return (
    <Checkbox
      label={
        <Text span inherit ff="monospace" className="name" translate="no">
          {pattern}
        </Text>
      }
      description={about ?? undefined}
      checked={isCovered || chosen.includes(pattern)}
      disabled={isCovered}
      onChange={(event) => onToggle(pattern, event.currentTarget.checked)}
    />
  );
}
