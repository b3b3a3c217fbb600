/** Badge with the HTTP status code of a response. The color tells 4xx, 5xx and other codes apart. */
import { Badge } from '@mantine/core';

const colorOf = (status: number): string => {
  if (status >= 500) return 'red';
  if (status >= 400) return 'orange';
  return 'river';
};

export function ResponseStatus({ status }: { readonly status: number }) {
  return (
    <Badge variant="light" color={colorOf(status)} style={{ flexShrink: 0 }}>
      {status}
    </Badge>
  );
}
