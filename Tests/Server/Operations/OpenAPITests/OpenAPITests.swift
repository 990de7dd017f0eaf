import Foundation
import Operations
import SyncProtocol
import Testing

@Suite("The OpenAPI document")
struct OpenAPITests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardized

    private func file(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private func document() throws -> String {
        let version = try file("VERSION").trimmingCharacters(in: .whitespacesAndNewlines)
        return try OpenAPIDocument.json(version: version).text()
    }

    @Test("docs/openapi.json matches the route table, the messages and the descriptions")
    func isCurrent() throws {
        // If they differ: swift run syncctl openapi "$(cat VERSION)" > docs/openapi.json
        #expect(try file("docs/openapi.json") == document())
    }

    @Test("The codes and their statuses are exactly those of docs/protocol.md")
    func codes() throws {
        var documented: [String: Int] = [:]
        for line in try file("docs/protocol.md").split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, ["yes", "no"].contains(cells[2]), cells[1].hasPrefix("`") else { continue }
            let codes = cells[1].split(separator: ",").map { $0.trimmingCharacters(in: ["`", " "]) }
            let statuses = cells[0].split(separator: ",").compactMap {
                Int($0.trimmingCharacters(in: .whitespaces))
            }
            for (code, status) in zip(codes, statuses) { documented[code] = status }
        }
        let described = Dictionary(uniqueKeysWithValues: ErrorCode.allCases.map { ($0.rawValue, $0.status) })

        #expect(described == documented)
    }

    @Test("The document has every endpoint that a client may call, with its method and all its parameters")
    func endpoints() throws {
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(document().utf8)) as? [String: any Sendable])
        let paths = try #require(json["paths"] as? [String: [String: any Sendable]])

        let endpoints = EndpointName.allCases.filter { !$0.route.isDebugOnly }.map { "/\($0.rawValue)/" }
        #expect(Set(paths.keys) == Set(endpoints + [GroupManifest.keysPath]))
        for endpoint in EndpointName.allCases where !endpoint.route.isDebugOnly {
            let method = endpoint.route.method.rawValue.lowercased()
            #expect(paths["/\(endpoint.rawValue)/"]?[method] != nil, "\(endpoint)")
        }
        #expect(paths[GroupManifest.keysPath]?["get"] != nil)
    }

    @Test("The page of the manifests' keys has the same path in nginx and in the documents")
    func manifestKeys() throws {
        let path = GroupManifest.keysPath
        for document in ["docs/protocol.md", "docs/manifest.md", "docs/conformance.md"] {
            #expect(try file(document).contains("\(path)`"), "\(document)")
        }
        let location = "location ~ ^\(path.replacing(".", with: #"\."#))/?$ {"
        #expect(try file("nginx/syncd-locations.conf").contains(location))
    }
}
