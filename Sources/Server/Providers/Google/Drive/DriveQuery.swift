import HTTPTransport
import HTTPTypes

/// Searches with Drive's query language (Drive API, "Search query terms and operators").
enum DriveQuery {
    /// `text` as a literal of the query language.
    static func literal(_ text: String) -> String {
        var escaped = "'"
        // Escapes scalar by scalar: a quote with a combining accent is one character, but still a quote.
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped + "'"
    }

    /// All matching files, oldest first; equal times are ordered by identifier, so that every process makes the same
    /// choice among duplicates.
    static func list(_ query: String, with client: inout ProviderClient) throws(CloudStorageError) -> [DriveFile] {
        var found: [DriveFile] = []
        try pages(query, with: &client) { page in
            found += page
            return found.count < 1_000
        }
        return found.sorted { ($0.createdTime ?? "", $0.id) < ($1.createdTime ?? "", $1.id) }
    }

    /// Hands over the matching files, a page at a time and in no particular order, while `goesOn` returns true.
    static func pages(
        _ query: String, with client: inout ProviderClient, goesOn: ([DriveFile]) -> Bool
    ) throws(CloudStorageError) {
        var pageToken: String?
        repeat {
            var items = [
                (name: "q", value: query), (name: "spaces", value: "drive"), (name: "corpora", value: "user"),
                (name: "pageSize", value: "100"),
                (name: "fields", value: "nextPageToken,files(\(DriveFile.fields))"),
                (name: "includeItemsFromAllDrives", value: "true"),
            ]
            items += GoogleDrive.allDrives
            if let pageToken { items.append((name: "pageToken", value: pageToken)) }
            let url = OutgoingRequest.url(GoogleDrive.files, items)
            let page = try ProviderJSON.decode(
                DriveFileList.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body)
            guard goesOn(page.files) else { return }
            pageToken = page.nextPageToken
        } while pageToken != nil
    }
}
