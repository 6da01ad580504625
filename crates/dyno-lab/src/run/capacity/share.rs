//! How workloads share a load.

/// So many of the `clients` of each workload are active that there are `load` in all, in proportion as far as whole
/// clients allow (largest remainders), but at least one of each. `load` is at least the number of workloads and at most
/// that of all clients.
pub(super) fn dealt(load: usize, clients: &[usize]) -> Vec<usize> {
    let all = clients.iter().sum::<usize>().max(1) as f64;
    let mut active: Vec<usize> = clients.iter().map(|clients| (*clients).min(1)).collect();
    for _ in active.iter().sum::<usize>()..load {
        let lacks = |workload: usize| load as f64 * clients[workload] as f64 / all - active[workload] as f64;
        let next = (0..clients.len())
            .filter(|workload| active[*workload] < clients[*workload])
            // The first of those that lack alike.
            .reduce(|one, other| if lacks(other) > lacks(one) { other } else { one });
        let Some(next) = next else { break };
        active[next] += 1;
    }
    active
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clients_are_dealt_in_proportion() {
        assert_eq!(dealt(2, &[4, 4]), [1, 1]);
        assert_eq!(dealt(3, &[4, 4]), [2, 1]);
        assert_eq!(dealt(7, &[8, 4, 2]), [4, 2, 1]);
        assert_eq!(dealt(5, &[100, 1, 1]), [3, 1, 1]);
        assert_eq!(dealt(14, &[8, 4, 2]), [8, 4, 2]);
    }

    proptest! {
        #[test]
        fn as_many_are_active_as_are_asked_for(
            clients in prop::collection::vec(1_usize..50, 1..6), part in 0.0..1.0_f64,
        ) {
            let all: usize = clients.iter().sum();
            let load = clients.len() + ((all - clients.len()) as f64 * part).round() as usize;
            let active = dealt(load, &clients);
            prop_assert_eq!(active.iter().sum::<usize>(), load);
            prop_assert!(active.iter().zip(&clients).all(|(active, all)| (1..=*all).contains(active)));
        }
    }
}
