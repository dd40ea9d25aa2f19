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
  return fmt::format("decoding on all {} threads: {} were slower ({:.2f} ms against {:.2f} ms a "
                     "step)",
                     report->all, compared.fewer, fewer, more);
}

} // namespace inf
