/** What every page is given. */

export interface PageProps {
  /** Id of the run that is looked at; it is ready. */
  run: string;
}
