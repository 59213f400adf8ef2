// A small lab in a folder of its own, and results for its checks in their order: what printers and writers are shown.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/record.h"
#include "support/files.h"

struct LabScene {
  struct Row {
    const char* id;
    const char* group;
    int points;
  };
  LabScene(const std::vector<Row>& rows, const char* section, const std::string& reason) {
    lab.lab = 4;
    lab.folder = folder.path();
    for (const Row& row : rows) {
      report::CheckSpec& spec = lab.checks.emplace_back();
      spec.id = row.id;
      spec.group = row.group;
      spec.points = row.points;
      spec.section = section;
    }
    files::write(folder / "hints/short-write-loses-rest.md",
                 "# Short write loses the rest\nReason: " + reason + "\nMan: send(2), write(2)\n");
  }
  void add(report::Outcome outcome, bool asked = true) {
    results.push_back(report::result_of(lab.checks[results.size()], std::move(outcome), asked));
  }
  void add(report::Verdict verdict, const std::string& cause = "", bool asked = true, const std::string& diagnosis = "") {
    report::Outcome outcome;
    outcome.verdict = verdict;
    outcome.cause = cause;
    outcome.diagnosis = diagnosis;
    add(outcome, asked);
  }

  files::Folder folder;
  report::LabSpec lab;
  std::vector<report::CheckResult> results;
};
