import Foundation
import Posix
import Providers
import TestSupport
import Testing

@testable import Operations
@testable import Store

@Suite("Checks of doctor")
struct ExaminationTests {
    @Test("Work that has been due for minutes means that no jobs process runs")
    func jobs() {
        func outbox(due: Int, seconds: Int64, failing: Int = 0) -> OutboxOverview {
            OutboxOverview(rows: due, due: due, leased: 0, failing: failing, longestDueSeconds: seconds)
        }

        #expect(JobsCheck.judge(outbox(due: 3, seconds: 301)).code == .jobsStandStill)
        #expect(JobsCheck.judge(outbox(due: 3, seconds: 300)).code == nil)
        #expect(JobsCheck.judge(outbox(due: 0, seconds: 0, failing: 2)).finding.contains("2 jobs failed before"))
    }

    @Test("The database's clock may differ by two seconds, and those of all providers by half a minute")
    func clock() {
        #expect(ClockCheck.database(ownMilliseconds: 10_000, databaseMilliseconds: 12_000).code == nil)
        #expect(ClockCheck.database(ownMilliseconds: 10_000, databaseMilliseconds: 7_999).code == .databaseClockDiffers)
        #expect(ClockCheck.providers(offsets: [-3_600, 30]).code == nil)
        #expect(ClockCheck.providers(offsets: [-3_600, -31]).finding.contains("31 s behind"))
        #expect(ClockCheck.providers(offsets: [31]).code == .clockOff)
        #expect(ClockCheck.providers(offsets: []).code == .clockUnread)
    }

    @Test("Certificates and disks warn before they fail")
    func thresholds() {
        func disk(_ bytes: Int64, _ files: Int64) -> DiagnosisCode? {
            DiskCheck.judge(
                "/",
                HostFacts.FileSystem(
                    device: 1, freeBytes: bytes << 30, totalBytes: 100 << 30, freeFiles: files, totalFiles: 100)
            ).code
        }
        #expect(CertificateCheck.validity("c", secondsLeft: 86_400 * 30).code == nil)
        #expect(CertificateCheck.validity("c", secondsLeft: 86_400 * 20).code == .certificateExpiring)
        #expect(CertificateCheck.validity("c", secondsLeft: -1).code == .certificateExpired)
        #expect(disk(50, 50) == nil)
        #expect(disk(5, 50) == .diskFilling)
        #expect(disk(50, 5) == .diskFilling)
        #expect(disk(1, 50) == .diskFull)
        #expect(disk(50, 1) == .diskFull)
    }

    @Test("A host name must resolve; an address of another host is noted")
    func dns() {
        #expect(NamesCheck.judge("x", addresses: [], own: ["10.0.0.1"]).code == .nameUnresolved)
        #expect(NamesCheck.judge("x", addresses: ["10.0.0.1"], own: ["10.0.0.1"]).code == nil)
        #expect(NamesCheck.judge("x", addresses: ["10.0.0.2"], own: ["10.0.0.1"]).code == .nameElsewhere)
    }

    @Test("A provider that refuses the server is told from one that does not answer")
    func registration() throws {
        let google = try #require(Company.all.first { $0.name == "Google" })
        let refused = RegistrationCheck.judge(google, .misconfigured(detail: "invalid_client"))
        #expect(refused.code == .secretRefused)
        #expect(refused.fix?.contains("GoogleServerClientSecret") == true)
        #expect(RegistrationCheck.judge(google, .timedOut).code == .providerUnreachable)
        #expect(RegistrationCheck.judge(google, nil).code == nil)
    }

    @Test("A socket without a listener is an error that says what to do")
    func socket() throws {
        let diagnosis = try #require(
            RespondersCheck.examine("apiSocket", "/nonexistent.sock", within: .seconds(1)).first)
        #expect(diagnosis.code == .responderSilent)
        #expect(diagnosis.fix != nil)
        #expect(ResponderProbe.status(in: Array("Status: 503 Service Unavailable\r\n\r\n".utf8)) == 503)
        #expect(ResponderProbe.status(in: Array("Content-Type: x\r\n\r\n".utf8)) == 200)
        #expect(ResponderProbe.status(in: []) == nil)
    }

    @Test("Of a stopped target its units are not reported as well, and failed ones are")
    func units() {
        let states = UnitsCheck.paragraphs(
            """
            Id=syncd.target
            ActiveState=inactive
            SubState=dead
            UnitFileState=disabled

            Id=syncd-api@1.service
            ActiveState=inactive
            SubState=dead

            Id=syncd-jobs@1.service
            ActiveState=failed
            SubState=failed

            """
        ).map(UnitState.init)

        let diagnoses = UnitsCheck.judge(states)

        #expect(diagnoses.map(\.code) == [.unitStopped, .unitDisabled, .unitFailed])
        #expect(diagnoses.last?.finding.contains("syncd-jobs@1.service") == true)
    }

    @Test("What openssl prints has the certificate, and why it is not trusted")
    func servedCertificate() {
        func output(_ verdict: String) -> String {
            """
            depth=0 CN = localhost
            verify error:num=18:self-signed certificate
            -----BEGIN CERTIFICATE-----
            AAAA
            -----END CERTIFICATE-----
            Verify return code: \(verdict)
            """
        }
        #expect(ServedCertificate(output: output("0 (ok)"))?.distrust == nil)
        let served = ServedCertificate(output: output("18 (self-signed certificate)"))
        #expect(served?.distrust == "self-signed certificate")
        #expect(served?.pem == "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        #expect(ServedCertificate(output: "connect:errno=111") == nil)
    }

    @Test("Checks run side by side; one that does not end is left behind")
    func sideBySide() {
        let never = DispatchSemaphore(value: 0)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let diagnoses = HostCheck.run(
            [
                HostCheck("hangs") {
                    never.wait()
                    return []
                },
                // Each waits for the other one.
                HostCheck("first") {
                    first.signal()
                    second.wait()
                    return [.good("first", "")]
                },
                HostCheck("second") {
                    second.signal()
                    first.wait()
                    return [.good("second", "")]
                },
            ], within: .seconds(1))

        #expect(diagnoses.map(\.check) == ["doctor", "first", "second"])
        #expect(diagnoses.first?.code == .checkTimedOut)
        #expect(diagnoses.first?.finding == "hangs: no result after 1 s")
        never.signal()
    }

    @Test("A finding that the operator ignores is reported, and does not count")
    func ignored() {
        let report = DoctorReport(
            [Diagnosis(.sandboxInUse, "it is", fix: nil), .good("disk", "free")], ignoring: [.sandboxInUse])
        #expect(report.isGood)
        #expect(report.lines.first == "ignored it is")
        #expect(DoctorReport(report.diagnoses).lines.last == "THIS HOST NEEDS SOMEBODY: sandboxInUse")
    }

    @Test("Every finding is explained in docs/operations.md, in this order, as the program does")
    func documented() throws {
        let file = PrivateStack.repository.appending(path: "docs/operations.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let begin = try #require(lines.firstIndex { $0.hasPrefix("| Finding | Check | Severity |") })
        let rows = lines[(begin + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let severities = ["bad": "error", "warning": "warning", "unknown": "note"]

        #expect(rows.map { $0[0] } == DiagnosisCode.allCases.map { "`\($0.rawValue)`" })
        for (row, code) in zip(rows, DiagnosisCode.allCases) {
            #expect(row.count == 6, "\(code)")
            #expect(row[1] == "`\(code.check)`", "\(code)")
            #expect(row[2] == severities[code.verdict.rawValue], "\(code)")
            #expect(row[4] == code.effect ?? "–", "\(code)")
        }
    }
}
