/** Error boundary that shows an error box instead of a blank page if a page fails to load or render. */
import { Component, type ReactNode } from 'react';
import { Unreachable } from '../api/problem.js';
import { Failure } from '../words/failure.js';

interface PageBoundaryProps {
  /** Current path. A change of the path removes the error. */
  readonly at: string;
  readonly children: ReactNode;
}

interface Thrown {
  readonly error: unknown;
}

interface PageBoundaryState {
  readonly at: string;
  readonly thrown: Thrown | null;
}

/**
 * PageBoundary catches errors that the components inside throw. Components outside, such as the navigation, stay
 * visible.
 */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override readonly state: PageBoundaryState = { at: this.props.at, thrown: null };

  static getDerivedStateFromError(error: unknown): Partial<PageBoundaryState> {
    return { thrown: { error } };
  }

  static getDerivedStateFromProps({ at }: PageBoundaryProps, state: PageBoundaryState): PageBoundaryState | null {
    return at === state.at ? null : { at, thrown: null };
  }

  override render(): ReactNode {
    const { thrown } = this.state;
    return thrown === null ? this.props.children : <Failure error={thrown.error} again={() => void this.reload()} />;
  }

  /**
   * Reloads the whole page, because after an update the server no longer has the files of the previous version. If the
   * server is unreachable, shows the error in the panel. Reloading would lead to an error page of the browser.
   */
  private async reload(): Promise<void> {
    try {
      await fetch('/', { method: 'HEAD', cache: 'no-store' });
      location.reload();
    } catch (error) {
      this.setState({ thrown: { error: new Unreachable('No response came', { cause: error }) } });
    }
  }
}
