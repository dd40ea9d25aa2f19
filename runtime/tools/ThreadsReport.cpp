#include "runtime/tools/ThreadsReport.h"

#include <fmt/format.h>

namespace inf {

std::string decodeThreadsText(const std::optional<StepThreadsReport> &report) {
  if (!report)
    return "decoding on all threads: their number was given, is one, or can't follow the memory";
  const ThreadComparison &compared = report->comparison;
  const double fewer = compared.fewerSeconds * 1e3, more = compared.moreSeconds * 1e3;
  if (report->threads < report->all && compared.fewer == 0)
    return fmt::format("decoding on {} of {} threads: fewer were slower", report->threads,
                       report->all);
  if (report->threads < report->all)
    return fmt::format(
        "decoding on {} of {} threads: more were no faster ({:.2f} ms against {:.2f} "
        "ms a step on {})",
        report->threads, report->all, fewer, more, compared.more);
  if (compared.fewer == 0)
    return fmt::format("decoding on all {} threads: {} steps were too few to try fewer",
                       report->all, report->steps);
  // Not "slower": who lost more of the pairs may still be faster on average beside a busy program.
  return fmt::format("decoding on all {} threads: trials of {} were lost ({:.2f} ms against {:.2f} "
                     "ms a step on average)",
                     report->all, compared.fewer, fewer, more);
}

} // namespace inf
