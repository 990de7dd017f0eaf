import Dispatch
import Foundation
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing
import Vault

@testable import SyncService

/// Measures the time of a rebuild, with storage that answers at once:
/// `SYNC_REBUILD_OWNERS=1000 swift test --filter RebuildMeasurementTests`. Groups of ten, 100 files for each owner.
@Suite("The time of a rebuild", .enabled(if: measuredOwners > 0))
struct RebuildMeasurementTests {
    private static let threads = 4

    /// Fills the database of a server as if it had served the owners, and returns their folders by access token.
    private func fill(_ lost: TestServer) throws -> [String: [String]] {
        let files = measuredOwners * 100
        try lost.execute(
            """
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, cloud_folder_name, created_at)
            SELECT seq, 'Google', CONCAT('u', seq), CONCAT('Person ', seq), 'F', '2026-01-01' FROM seq_1_to_\(measuredOwners);
            INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, name, master_version, created_at)
            SELECT seq, UPPER(UUID()), CONCAT('Album ', seq), 7, '2026-01-01' FROM seq_1_to_\(measuredOwners / 10);
            INSERT INTO memberships (sharing_group_id, user_id, permission, joined_at)
            SELECT (seq - 1) DIV 10 + 1, seq, 'admin', '2026-01-01' FROM seq_1_to_\(measuredOwners);
            INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at,
                   updated_at, mime_type, file_version, check_sum, size_bytes, object_id, changed_at_master_version)
            SELECT ((seq - 1) MOD \(measuredOwners)) DIV 10 + 1, UPPER(UUID()), (seq - 1) MOD \(measuredOwners) + 1, 'Google',
                   '11111111-2222-3333-4444-555555555555', '2026-01-01', '2026-01-01', 'text/plain', 0, MD5(seq),
                   LENGTH(seq), CONCAT('o', seq), 7
              FROM seq_1_to_\(files)
            """)
        let key = try lost.keys.current.manifestKey()
        let settings = ManifestSettings(key: key, intervalSeconds: 0, serverURL: nil)
        var folders: [String: [String]] = [:]
        for number in 1...measuredOwners {
            let owner = OwningUser(userID: UserID(Int64(number)), storageType: .google)
            let groupID = SharingGroupID(Int64((number - 1) / 10 + 1))
            let text = try lost.store.snapshot { session in
                let group = try #require(try session.manifestGroup(groupID))
                if number % 10 == 1 {
                    try session.manifestFiles(of: groupID) { file, _ in
                        guard let id = file.objectID else { return }
                        lost.cloud.put(id, file.cloudName.rawValue, Array(id.dropFirst().utf8))
                        folders["good u\(file.owningUser.userID)", default: []].append(id)
                    }
                }
                return try ManifestText(
                    of: groupID, group, for: owner, settings, lost.services.storage.vault, at: noon, &session)
            }
            let name = ManifestName(groupUUID: text.groupUUID, sequence: 1).rawValue
            lost.cloud.put("m\(number)", name, text.bytes)
            folders["good u\(number)", default: []].append("m\(number)")
        }
        return folders
    }

    @Test("A rebuild of many owners")
    func rebuild() throws {
        let (lost, server) = (try TestServer(), try TestServer(watchesMaintenance: true))
        server.cloud.behaviour.folders = try fill(lost)
        try server.beginRebuild(of: lost)

        let people = (1...measuredOwners).map { Phone(name: "u\($0)", accountType: .google) }
        let visits = ContinuousClock().measure {
            for person in people { #expect(server.send(CheckCredsRequest(), as: person).code == "restoring") }
        }
        let log = server.log
        let reading = ContinuousClock().measure {
            DispatchQueue.concurrentPerform(iterations: Self.threads) { _ in
                let worker = OutboxWorker(
                    store: server.store, storage: server.services.storage, warningFile: nil,
                    leaseOwner: UUID().uuidString, now: { noon }, logger: Logger(label: "jobs", factory: { _ in log }))
                while (try? worker.run(transport: .unused)) ?? 0 > 0 {}
            }
        }
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let memory = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") } ?? ""
        print(
            "\(measuredOwners) owners, \(measuredOwners * 100) files: visits \(visits), reading \(reading) with \(Self.threads)"
                + " threads; \(memory), with the storage and both servers")
        for person in people { #expect(server.send(IndexRequest(), as: person).status == 200) }
        #expect(try server.count("SELECT COUNT(*) FROM files WHERE object_id IS NOT NULL") == measuredOwners * 100)
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_groups WHERE state <> 'complete'") == 0)
    }
}

private let measuredOwners = ProcessInfo.processInfo.environment["SYNC_REBUILD_OWNERS"].flatMap { Int($0) } ?? 0
