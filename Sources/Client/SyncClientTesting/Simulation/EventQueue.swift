/// Planned events, ordered by time; simultaneous events in the order of planning.
struct EventQueue<Event> {
    private struct Entry {
        let time: Double
        let number: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    // A binary heap.
    private var entries: [Entry] = []
    private var planned = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func plan(_ event: Event, at time: Double) {
        planned += 1
        entries.append(Entry(time: time, number: planned, event: event))
        var index = entries.count - 1
        while index > 0, entries[index].precedes(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func next() -> (time: Double, event: Event)? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (first.time, first.event)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].precedes(entries[least]) { least = child }
            }
            if least == index { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}
